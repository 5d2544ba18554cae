"""Shells, their tools and the C library on machines that speak neither English nor Chinese, as bash and glibc translate them."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

SAID = """
killed|./run.sh: línea 4:  6516 Terminado (killed)      python train.py
killed|./run.sh: Zeile 12: 3321 Getötet                 python train.py
killed|Getötet
killed|./run.sh: ligne 3 :  4411 Processus arrêté      python train.py
killed|Morto
killed|Ucciso
killed|Убито
killed|強制終了
killed|죽었음
killed|run.sh: Zeile 3: 77 Beendet                 sleep 9
exception|./run.sh: línea 4:  6516 Abortado                (`core' generado) python3.10 app.py "$@"
exception|Violación de segmento (`core' generado)
exception|Speicherzugriffsfehler (Speicherabzug geschrieben)
exception|Erreur de segmentation (core dumped)
exception|Falha de segmentação (imagem do núcleo gravada)
exception|Errore di segmentazione (core dump creato)
exception|Ошибка сегментирования (образ памяти сброшен на диск)
exception|Аварийный останов (образ памяти сброшен на диск)
exception|セグメンテーション違反 (コアダンプ)
exception|세그멘테이션 오류 (core dumped)
exception|bash: train.sh: orden no encontrada
exception|bash: nvcc: commande introuvable
exception|-bash: nvidia-smi: Kommando nicht gefunden.
exception|run.sh: linha 3: nvcc: comando não encontrado
exception|bash: nvcc: команда не найдена
exception|bash: nvcc: コマンドが見つかりません
exception|bash: ./train.sh: Permiso denegado
exception|bash: ./train.sh: Keine Berechtigung
exception|bash: ./train.sh: Permission non accordée
exception|bash: ./train.sh: Отказано в доступе
exception|bash: cd: data: Datei oder Verzeichnis nicht gefunden
exception|bash: cd: data: Aucun fichier ou dossier de ce type
exception|cat: x: Eingabe-/Ausgabefehler
exception|touch: x: Système de fichiers accessible en lecture seulement
disk_full|cp: error writing 'x': No queda espacio en el dispositivo
disk_full|cp: Fehler beim Schreiben von 'x': Auf dem Gerät ist kein Speicherplatz mehr verfügbar
disk_full|cp: erreur d'écriture de 'x': Aucun espace disponible sur le périphérique
disk_full|cp: erro escrevendo 'x': Não há espaço disponível no dispositivo
disk_full|cp: ошибка записи 'x': На устройстве не осталось свободного места
disk_full|cp: 'x' の書き込みエラー: デバイスに空き領域がありません
disk_full|cp: 'x' 쓰기 오류: 장치에 남은 공간이 없음
disk_full|tar: x: Der zugewiesene Plattenplatz (Quota) ist überschritten
host_oom|bash: fork: No se puede asignar memoria
host_oom|bash: fork: Nicht genügend Hauptspeicher verfügbar
host_oom|bash: fork: Impossible d'allouer de la mémoire
network|ssh: connect to host 10.0.0.1 port 22: Verbindungsaufbau abgelehnt
network|ssh: connect to host 10.0.0.1 port 22: Connexion refusée
network|ssh: connect to host 10.0.0.1 port 22: В соединении отказано
-|Terminado
-|Beendet
-|entrenamiento terminado en 3 h
-|Segmento 3 de 9 cargado
-|ls: no se puede acceder a 'x': No existe el archivo o el directorio
-|Espacio en disco disponible: 40 GB
-|Speicherplatz: 40 GB frei
-|prediction: der Verzeichnis wurde nicht gefunden
-|morto é um adjetivo
-|Connexion établie
"""
ROWS = [tuple(row.split("|", 1)) for row in SAID.strip("\n").split("\n")]


@pytest.mark.parametrize(("label", "line"), ROWS, ids=[str(at) for at in range(len(ROWS))])
def test_a_machine_is_understood_in_its_own_language(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label if mark.alarm else "-") == label, mark
