"""What a shell, its tools and the C library say on a machine that speaks another language than English or Chinese.

The sentences are those of bash and glibc, which are the same wherever a language is: Spanish, German, French, Portuguese,
Italian, Russian, Japanese and Korean. What they mean is what the English ones mean; no more than that is read here.
"""

from __future__ import annotations

from gpu_tui.parse.triage_rule import FATAL, Rule, rule

# A shell before the death of a child that it waited for: `run.sh: Zeile 12: 3321 `.
_CHILD = r"^\S{1,200}: \S{1,8} ?\d{1,6} ?: +\d{1,9} "
_END = r"(?= {2,}|\s*$| [(\uff08])"


def _word(words: str) -> str:
    """One of these alone on a line, or what a shell says of its child."""
    return rf"^(?:{words})(?: \([^()]{{1,60}}\))?\s*$|{_CHILD}(?:{words}){_END}"


TONGUE_CAUSES: tuple[Rule, ...] = (
    rule(
        "host_oom",
        FATAL,
        "asignar memoria|hauptspeicher|allouer de la|alocar mem|allocare memoria|выделить память|メモリを確保|메모리를 할당",
        r"no se p(?:udo|uede) asignar memoria|Nicht genügend Hauptspeicher verfügbar|(?:ne peut|impossible d.)\s?allouer de la mémoire|"
        r"não (?:é|foi) possível alocar memória|impossibile allocare memoria|(?:Не удалось|Невозможно) выделить память|メモリを確保できません|메모리를 할당할 수 없",
    ),
    rule(
        "disk_full",
        FATAL,
        "espacio en el|speicherplatz|espace disponible|espaço disponível|esaurito|свободного места|место|空き領域|남은 공간|"
        "cuota|quota|cota de|квота|使用量制限",
        r"no queda espacio en el dispositivo|auf dem gerät ist kein speicherplatz mehr|aucun espace disponible sur le périphérique|"
        r"não há espaço disponível no dispositivo|spazio esaurito sul d|На устройстве (?:не осталось свободного места|кончилось место)|"
        r"デバイスに空き領域がありません|장치에 남은 공간이 없|excedido la cuota de disco|plattenplatz \(quota\)|débordement du quota|"
        r"[qc]uota de disco excedida|Превышена дисковая квота|ディスク使用量制限を超過",
    ),
)
TONGUE_STOPS: tuple[Rule, ...] = (
    rule(
        "killed",
        FATAL,
        "getötet|processus arrêté|morto|ucciso|бито|強制終了|죽었음|已砍掉|beendet|complété|terminado|terminato|авершено|종료됨",
        _word("Getötet|Processus arrêté|Morto|Ucciso|Убито|強制終了|죽었음|已砍掉")
        + rf"|{_CHILD}(?:Beendet|Complété|Terminado|Terminato|Завершено|종료됨){_END}",
    ),
)
TONGUE_ENDS: tuple[Rule, ...] = (
    rule(
        "network",
        FATAL,
        "verbindung|conexión|connexion|conexão|connessione|оединени|接続|연결",
        r": (?:verbindungsaufbau abgelehnt|die wartezeit für die verbindung ist abgelaufen|die verbindung wurde vom kommunikationspartner|"
        r"conexión (?:rehusada|reinicializada)|expiró el tiempo de conexión|connexion (?:refusée|terminée par|ré-initialisée)|conexão (?:recusada|fechada pela)|"
        r"connessione (?:rifiutata|interrotta|scaduta)|В соединении отказано|Соединение разорвано|Время ожидания соединения|"
        r"接続を拒否|接続がタイムアウト|연결이 거부|연결 시간 초과)",
    ),
    rule(
        "exception",
        FATAL,
        "speicherzugriff|segment|segmentazione|сегментирования|セグメ|세그|abgebrochen|abortado|abandon|annullato|останов|中止|중지됨|"
        "maschinenbefehl|coma flotante|virgola mobile|плавающей|error del bus|erreur du bus|шины|バスエラー|"
        "speicherabzug|generado|núcleo|core dump creato|памяти сброшен|コアダンプ|區段錯誤",
        _word(
            "Abgebrochen|Abortado|Abandon|Annullato|Аварийный останов|中止|중지됨|Ungültiger Maschinenbefehl|Excepción de coma flotante|"
            "Eccezione in virgola mobile|Исключение в операции с плавающей точкой|Error del bus|Erreur du bus|Ошибка шины|バスエラー"
        )
        + r"|Speicherzugriffsfehler|violación de segmento|erreur de segmentation|falha de segmentação|errore di segmentazione|"
        r"Ошибка сегментирования|セグメンテーション違反|세그멘테이션 (?:오류|결함)|程式記憶體區段錯誤|"
        r"[(\uff08](?:Speicherabzug geschrieben|`core' generado|imagem do núcleo gravada|core dump creato|образ памяти сброшен|コアダンプ)",
    ),
    # A command that is not there, a file that is not or may not be opened: as a shell says it, or as a program ends.
    rule(
        "exception",
        FATAL,
        "no encontrada|introuvable|nicht gefunden|não encontrad|non trovato|не найдена|見つかりません|찾을 수 없",
        r"^(?:-?(?:\S{0,60}/)?(?:ba|z|k|da)?sh|\S{1,200}: \S{1,8} ?\d{1,6} ?): .{1,200}: (?:orden no encontrada|commande introuvable|"
        r"(?:kommando|befehl) nicht gefunden|comando não encontrado|comando non trovato|команда не найдена|コマンドが見つかりません|명령어?를 찾을 수 없)",
    ),
    rule(
        "exception",
        FATAL,
        "permiso|berechtigung|permission|permissão|permesso|тказано|許可|権限|허가|no existe|verzeichnis|aucun fichier|arquivo|directory non|"
        "ет такого|ディレクトリ|디렉터리|lectura|nur lesbar|lecture seul|leitura|lettura|для чтения|読み込み専用|entrada/|eingabe-|entrée/|"
        "ввода/|入力/出力|입력/출력",
        r"^(?:-?(?:\S{0,60}/)?(?:ba|z|k|da)?sh|\S{1,200}: \S{1,8} ?\d{1,6} ?|python\d?|tar|cp|dd|rsync|git|fatal|ssh|scp)(?:: .{1,200})?: (?:permiso denegado|"
        r"keine berechtigung|permission non accordée|permissão negada|permesso negato|Отказано в доступе|(?:許可|権限)がありません|허가 거부|"
        r"no existe el (?:fichero|archivo)|datei oder verzeichnis nicht gefunden|aucun fichier ou dossier|arquivo ou diretório (?:inexistente|não)|"
        r"file o directory non esistente|Нет такого файла|そのようなファイルやディレクトリはありません|그런 파일이나 디렉터리가 없)|"
        r": (?:sistema de (?:ficheros|archivos) de s[oó]lo lectura|das dateisystem ist nur lesbar|système de fichiers (?:accessible )?en lecture seul|"
        r"sistema de arquivos somente para leitura|file system in sola lettura|Файловая система доступна только для чтения|読み込み専用ファイルシステム|"
        r"error de entrada/salida|eingabe-/ausgabefehler|erreur d.entrée/sortie|erro de entrada/saída|Ошибка ввода/вывода|入力/出力エラー|입력/출력 오류)",
    ),
)
