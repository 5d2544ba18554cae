"""Failures that are told in Chinese: by programs, by a system that speaks it, by platforms that rent boxes.

Most sentences put what fails before how: a part (`显存`, GPU memory), then its state (`不足`, not enough). Where a
line holds Chinese and a name of an exception, the exception's own rule stands further up or says more.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import ADVICE, CALM, FATAL, SURVIVED, Rule, rule

# As if it were so, as a choice, as a wish; mended, tried again, passed over; how many, how often, not at all.
_NO_REPORT = (
    "如果|若|为什么|怎么|如何|建议|可能|避免|防止|以免|请勿|是否|尝试|重试|重连|重新连接|自动恢复|跳过|忽略|已修复|已处理|已解决|"
    "没有(?:发现|出现|发生)?(?:错误|异常)|无(?:错误|异常)|(?:错误|异常|失败)(?:率|数|次数|检测|分析|类型|处理)"
)
_USED_UP = "(?:不足|不够|溢出|耗尽|用尽|超限|已满|满了|爆了|分配失败)"
_LOAD = "(?:加载|载入|读取|恢复)"


def _chinese(label: str, named: str, pattern: str, unless: str = _NO_REPORT) -> Rule:
    return rule(label, FATAL, named, pattern, f"{unless}|{ADVICE}|{SURVIVED}|{CALM}")


CHINESE_CAUSES: tuple[Rule, ...] = (
    _chinese("gpu_oom", "显存", f"显存[^，。,;]{{0,6}}{_USED_UP}|爆显存|显存(?:不足|溢出)"),
    _chinese("host_oom", "内存", f"无法分配内存|内存(?:空间)?{_USED_UP}|内存超出(?:了)?限制"),
    _chinese("inode", "inode", rf"\binodes?[^，。,;]{{0,6}}{_USED_UP}"),
    _chinese(
        "disk_full",
        "上没有空间|空间不足|磁盘|硬盘|系统盘|数据盘|存储空间|磁盘配额",
        f"设备上没有空间|空间不足|(?:磁盘|硬盘|系统盘|数据盘|存储空间)[^，。,;]{{0,6}}{_USED_UP}|超出磁盘(?:限额|配额)",
    ),
    _chinese(
        "hang",
        "卡死|卡住|无响应|心跳超时|通信超时",
        "(?:训练|进程|任务|程序|通信|线程|显卡)[^，。,;]{0,6}(?:卡死|卡住|无响应)|心跳超时|通信超时",
    ),
    _chinese(
        "ckpt_corrupt",
        "损坏|不匹配|不完整|检查点|断点|权重|模型",
        f"(?:权重|模型|检查点|断点)(?:文件)?[^，。,;]{{0,8}}(?:损坏|不完整|不匹配)|"
        f"(?:检查点|断点|权重)(?:文件)?{_LOAD}失败|{_LOAD}(?:检查点|断点|权重)(?:文件)?失败",
    ),
    # Also what a rented box is stopped for: it is over, or nobody paid.
    _chinese(
        "preempted",
        "余额不足|欠费|已关机|已停止|已释放|被抢占|被回收|时长|时间限制",
        "余额不足|欠费(?:停机|关机|停服)|(?:实例|机器|主机|容器)已(?:被)?(?:自动)?(?:关机|停止|释放|回收)|"
        "(?:任务|作业|实例|容器|机器)(?:已)?被(?:抢占|回收|释放|取消)|(?:超过|超出|达到)(?:最大)?(?:运行时长|时间限制)",
        f"{_NO_REPORT}|将(?:被|会|在)|后(?:将|会)",
    ),
    _chinese(
        "killed",
        "已杀死|已终止|被杀死|被杀掉|被强制|被系统|被用户|用户中断|用户取消|手动中断",
        "(?:^|\\s)已(?:杀死|终止)\\s|已(?:杀死|终止)\\s*$|(?:进程|程序|任务|训练)(?:已)?被(?:系统|用户|强制|手动)?(?:杀死|杀掉|终止|中断)|"
        "(?:被)?用户(?:手动)?(?:中断|取消|终止)|手动中断",
    ),
    _chinese(
        "nan",
        "损失|梯度|发散|变为|变成|出现",
        r"(?:\bloss|损失|梯度)[^，。,;0-9]{0,6}(?:变为|变成|出现) ?nan\b|"
        "训练(?:已)?发散|(?:损失|模型)(?:已经|已)?发散|梯度爆炸",
    ),
)
CHINESE_ENDS: tuple[Rule, ...] = (
    _chinese(
        "network",
        "连接|网络|无法访问",
        "(?:连接|网络|请求|下载)(?:已)?(?:超时|中断|断开|被重置|不可达)|连接被(?:拒绝|重置|对方重设)|无法连接(?:到|至)?|网络不可达",
    ),
    # Somebody's start, run or load failed, a process that left with a code, a level of trouble and its colon.
    _chinese(
        "exception",
        "失败|异常|错误|报错|出错|意外退出|退出码|已退出进程|找不到",
        "(?:执行|启动|运行|训练|任务|加载|连接|下载|安装|创建|初始化|编译|调用|解压|上传|保存)失败|异常退出|异常终止|意外退出|"
        r"已退出进程，代码为 [1-9]|退出码[:：=]? ?(?:Some\()?[1-9]|"
        r"^(?:\S{1,24} ){0,3}\W{0,4}(?:致命|严重|运行时|程序)?(?:错误|异常|报错|出错)\]? ?[:：] ?(?![0-9.]+\s*$|无|没有)\S|"
        "(?:发生|出现|遇到)(?:了)?(?:致命|严重|未知)?(?:错误|异常)|(?:运行|训练|程序|执行)(?:时)?(?:出错|报错)|"
        "找不到(?:文件|模块|路径|模型|数据集|命令)",
    ),
    # The shell, the kernel and the C library of a system that speaks Chinese.
    rule(
        "exception",
        FATAL,
        "段错误|已放弃|核心已转储|没有那个文件或目录|未找到命令|不是内部或外部命令|权限不够|系统找不到指定的|拒绝访问",
        "段错误|已放弃|核心已转储|没有那个文件或目录|未找到命令|不是内部或外部命令|权限不够|系统找不到指定的|^\\W{0,4}拒绝访问",
    ),
)
