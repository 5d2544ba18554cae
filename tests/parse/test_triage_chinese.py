"""What programs, systems and platforms tell in Chinese: failures, and what only sounds like one. All are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = [
    ("gpu_oom", "显存不足，请减小 batch_size"),
    ("gpu_oom", "错误：GPU 显存不足"),
    ("host_oom", "内存不足，进程被终止"),
    ("disk_full", "磁盘空间不足，无法保存模型"),
    ("disk_full", "系统盘已满，请清理后再开机"),
    ("preempted", "由于您的账户余额不足，实例已关机"),
    ("exception", "训练失败：找不到数据集"),
    ("exception", "程序异常退出，退出码 1"),
    ("nan", "训练损失: nan"),
    ("nan", "第 12 轮，损失：nan，学习率：0.001"),
    ("nan", "梯度范数: nan"),
    ("nan", "损失为 nan，停止训练"),
    ("nan", "loss 变为 NaN，训练终止"),
    ("network", "连接超时，下载失败"),
    ("exception", "错误: 找不到文件 config.yaml"),
    ("exception", "报错：维度不匹配"),
    ("killed", "进程已被杀死"),
    ("ckpt_corrupt", "模型加载失败：权重文件损坏"),
    ("disk_full", "OSError: [Errno 28] 设备上没有空间"),
    ("exception", "段错误 (核心已转储)"),
    ("exception", "段错误（吐核）"),
    ("killed", "已杀死"),
    ("exception", "bash: python: 未找到命令"),
    ("exception", "FileNotFoundError: [Errno 2] 没有那个文件或目录: 'data/train.json'"),
    ("exception", "运行时错误：维度不匹配"),
    ("exception", "[ERROR] 训练失败"),
    ("gpu_oom", "训练失败: CUDA out of memory. Tried to allocate 20.00 MiB"),
    ("network", "连接失败: Connection refused"),
    ("exception", "2024-01-01 10:00:00 错误：加载数据失败"),
    ("preempted", "实例因欠费停机"),
    ("preempted", "任务已被抢占"),
    ("preempted", "⚠️ 您的实例余额不足 24 小时将自动关机"),
]
QUIET = [
    "第 3 轮 损失: 0.1 准确率: nan",
    "第 3 轮 训练损失 0.345 验证损失 0.456",
    "训练进度: 45%|████      | 450/1000",
    "开始训练...",
    "模型已保存到 ./output/model.pt",
    "警告：未检测到 GPU，使用 CPU 训练",
    "训练完成",
    "错误率: 0.023",
    "异常检测数据集加载完成",
    "没有发现错误",
    "断点续训：从 epoch 3 恢复",
    "如果显存不足，请减小 batch_size",
    "建议使用 SSD 以避免磁盘空间不足",
    "图片损坏，已跳过",
    "连接超时，正在重试 (2/5)",
    "问：为什么训练会卡住？",
    "错误: 0",
    "异常: 无",
    "损失函数: CrossEntropy",
    "损失: 0.345",
    "他在事故中被杀死了",
    "内存占用 45%",
    "磁盘使用率 45%",
    "实例将在 7 天后释放",
]


@pytest.mark.parametrize(("label", "line"), ENDS)
def test_a_failure_told_in_chinese(label: str, line: str) -> None:
    assert (triage(line).label, triage(line).alarm) == (label, True)


@pytest.mark.parametrize("line", QUIET)
def test_what_is_no_failure_in_chinese(line: str) -> None:
    assert not triage(line).alarm
