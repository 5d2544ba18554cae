"""Logs of many frameworks in which a metric becomes NaN or Inf, stays so, and is finite again."""

# By framework: a report with NaN, reports that prove nothing, and a report in which the same metric is finite again.
FRAMEWORKS = {
    "hf": (
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4.5e-05, 'epoch': 0.32}\n",
        "  4%|▍         | 40/1000 [00:10<04:00,  4.00it/s]\n"
        "{'loss': 0.0, 'learning_rate': 4.4e-05, 'epoch': 0.35}\n"
        "{'eval_loss': 1.5, 'eval_runtime': 3.1, 'epoch': 1.0}\n"
        "  9%|▉         | 90/1000 [00:20<04:00,  4.00it/s]\n"
        "{'train_runtime': 22.1, 'train_loss': 0.0, 'epoch': 3.0}\n",
        "{'loss': 1.2, 'grad_norm': 3.1, 'learning_rate': 4.3e-05, 'epoch': 3.42}\n",
    ),
    "hf 5, whose values are text": (
        "{'loss': '0', 'grad_norm': 'nan', 'learning_rate': '4.5e-05', 'epoch': '0.32'}\n",
        "{'loss': '0', 'learning_rate': '4.4e-05', 'epoch': '0.34'}\n" * 4,
        "{'loss': '1.2', 'grad_norm': '3.1', 'learning_rate': '4.3e-05', 'epoch': '0.42'}\n",
    ),
    "hf evaluation": (
        "{'eval_loss': nan, 'eval_runtime': 3.1, 'epoch': 1.0}\n",
        "{'loss': 1.2, 'grad_norm': 3.1, 'epoch': 1.5}\n" * 5,
        "{'eval_loss': 1.4, 'eval_runtime': 3.1, 'epoch': 2.0}\n",
    ),
    "lightning": (
        "Epoch 3: 100%|██████████| 100/100 [00:10<00:00, 4.40it/s, v_num=0, train_loss=nan]\n",
        "".join(f"Epoch {n}:  10%|█         | 10/100 [00:10<00:12, 4.4it/s, v_num=0]\n" for n in range(4, 9)),
        "Epoch 9: 100%|██████████| 100/100 [00:10<00:00, 4.40it/s, v_num=0, train_loss=0.512]\n",
    ),
    "lightning before 2, which pads": (
        "Epoch 3:  45%|████▌     | 45/100 [00:10<00:12, 4.40it/s, v_num=0, train_loss_step=nan.0, train_loss_epoch=nan.0]\n",
        "".join(f"Epoch {n}:  10%|█         | 10/100 [00:10<00:12, 4.4it/s, v_num=0]\n" for n in range(4, 9)),
        "Epoch 9: 100%|██████████| 100/100 [00:10<00:00, 4.40it/s, v_num=0, train_loss_step=0.51, train_loss_epoch=0.40]\n",
    ),
    "keras": (
        "Epoch 4/20\n300/300 ━━━━━━━━━━━━━━━━━━━━ 20s 44ms/step - accuracy: 0.1 - loss: nan - val_loss: nan\n",
        "".join(f"Epoch {n}/20\n" for n in range(5, 10)),
        "300/300 ━━━━━━━━━━━━━━━━━━━━ 20s 44ms/step - accuracy: 0.4 - loss: 1.2 - val_loss: 1.3\n",
    ),
    "ultralytics": (
        "      3/100      4.52G        nan        nan        nan         23        640:  50%|█████     | 50/100 [00:10<00:10, 5.00it/s]\n",
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 4/4 [00:01<00:00,  2.9it/s]\n"
        "                   all        128        929          0          0          0          0\n" * 5,
        "      9/100      4.51G      1.023      2.321      1.534         21        640: 100%|██████████| 100/100 [00:20<00:00, 1.2s/it]\n",
    ),
    "nnU-Net": (
        "2023-01-01 10:00:00.123456: Epoch 3\n2023-01-01 10:00:00.123456: train_loss nan\n",
        "".join(
            f"2023-01-01 10:0{n}:00.123456: Epoch {n}\n2023-01-01 10:0{n}:01.123456: Current learning rate: 0.00997\n"
            f"2023-01-01 10:0{n}:02.123456: val_loss 0.41\n2023-01-01 10:0{n}:02.123456: Pseudo dice [nan, 0.5]\n"
            for n in range(4, 9)
        ),
        "2023-01-01 10:09:00.123456: train_loss -0.5123\n",
    ),
    "fairseq": (
        "2023-01-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 2000 loss=nan, nll_loss=nan, ppl=nan, wps=1000, num_updates=100, lr=1e-05, gnorm=nan, loss_scale=64\n",
        "2023-01-01 10:00:00 | INFO | train | epoch 001 | wps 1000 | num_updates 300\n"
        "2023-01-01 10:00:00 | INFO | fairseq.trainer | begin training epoch 2\n"
        "2023-01-01 10:00:00 | INFO | fairseq.trainer | begin training epoch 9\n",
        "2023-01-01 10:00:00 | INFO | train_inner | epoch 010:    200 / 2000 loss=8.1, nll_loss=7.5, ppl=200, wps=1000, num_updates=200, lr=1e-05, gnorm=1.3, loss_scale=64\n",
    ),
    "megatron": (
        " iteration      200/    2500 | consumed samples:  6400 | learning rate: 1.0E-04 | lm loss: NAN | loss scale: 1.0 | grad norm: NAN | number of skipped iterations:   0 | number of nan iterations:   1 |\n",
        "".join(
            f" iteration      {n}/    2500 | consumed samples:  6400 | learning rate: 1.0E-04 | loss scale: 1.0 | number of skipped iterations: 100 | number of nan iterations:   0 |\n"
            for n in range(300, 900, 100)
        ),
        " iteration      900/    2500 | consumed samples:  6400 | learning rate: 1.0E-04 | lm loss: 3.11E+00 | loss scale: 1.0 | grad norm: 0.5 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
    ),
    "timm": (
        "Train: 3 [  50/1251 (  4%)]  Loss: nan (nan)  Time: 0.3s, 100.00/s  (0.3s, 100.00/s)  LR: 1.000e-05  Data: 0.01 (0.02)\n",
        "".join(f"Train: {n} [ 100/1251 (  8%)]  Time: 0.3s  LR: 1.000e-05\n" for n in range(4, 9)),
        "Train: 9 [ 100/1251 (  8%)]  Loss: 0.5 (nan)  Time: 0.3s, 100.00/s  (0.3s, 100.00/s)  LR: 1.000e-05  Data: 0.01 (0.02)\n",
    ),
    "mmengine": (
        "11/08 15:58:16 - mmengine - INFO - Epoch(train) [1][   50/30895]  lr: 7.9760e-05  eta: 2 days, 7:32:05  time: 1.0788  grad_norm: nan  loss: 859.5978  loss_heatmap: 836.5007\n",
        "".join(
            f"11/08 15:58:16 - mmengine - INFO - Epoch(train) [1][  {n}/30895]  lr: 7.9760e-05  eta: 2 days, 7:32:05  time: 1.0788  loss: 859.5978  loss_heatmap: 836.5007\n"
            for n in range(100, 600, 100)
        ),
        "11/08 15:58:16 - mmengine - INFO - Epoch(train) [1][  650/30895]  lr: 7.9760e-05  eta: 2 days, 7:32:05  time: 1.0788  grad_norm: 12.3  loss: 9.5978  loss_heatmap: 8.5007\n",
    ),
    "detectron2": (
        "[11/08 15:58:16 d2.utils.events]:  eta: 1:20:00  iter: 59  total_loss: nan  loss_cls: nan  loss_box_reg: 0.1  time: 0.5  lr: 0.0001  max_mem: 5000M\n",
        "".join(
            f"[11/08 15:58:16 d2.utils.events]:  eta: 1:20:00  iter: {n}  time: 0.5  lr: 0.0001  max_mem: 5000M\n"
            for n in (79, 99, 119, 139)
        ),
        "[11/08 15:58:16 d2.utils.events]:  eta: 1:20:00  iter: 159  total_loss: 1.2  loss_cls: 0.5  loss_box_reg: 0.1  time: 0.5  lr: 0.0001  max_mem: 5000M\n",
    ),
    "xgboost": (
        "[5]\ttrain-logloss:nan\teval-logloss:nan\n",
        "[6]\teval-auc:0.5\n[7]\teval-auc:0.5\n[8]\teval-auc:0.5\n[9]\teval-auc:0.5\n",
        "[10]\ttrain-logloss:0.5\teval-logloss:0.6\n",
    ),
    "names that are not known": (
        "轮次 3/10 损失: nan\n",
        "轮次 4/10\n轮次 5/10\n轮次 6/10\n轮次 7/10 学习率: 0.1\n",
        "轮次 8/10 损失: 0.5\n",
    ),
    "a loop of one's own": (
        "epoch 4 | train loss: nan | val loss: 0.7\n",
        "".join(f"epoch {n} | val loss: 0.7 | acc 0.5\n" for n in range(5, 10)),
        "epoch 10 | train loss: 0.4 | val loss: 0.7\n",
    ),
    "a bar beside it": (
        "step 57 loss=inf\n",
        "".join(f"Training:  {n}%|████▌     | {n}/100 [00:10<00:12, 4.40it/s]\n" for n in range(58, 90)),
        "step 91 loss=0.5\n",
    ),
}  # fmt: skip
