"""Losses that are no number any more, as bars, meters and lists print them, and values that may be none. All lines are made up.

A row is the label that alarms, or `-` for a line that must not, and the line.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

CLASSES = r"""
# a bar whose loss is NaN, with what a writer of summaries says of another value glued on
nan|Epoch 3: 100%|█| 20/20 [00:03<00:00,  6.11it/s, loss=nan, v_num=4, val_acc=0.51]NaN or Inf found in input tensor.
nan|loss=nan (nan), lr=0.0003: :  12% 12/100 [00:31<03:40,  2.51s/it]WARNING:root:NaN or Inf found in input tensor.
nan|step 40 train_loss: nan WARNING:tensorboardX.x2num:NaN or Inf found in input tensor.
nan|NaN or Inf found in input tensor.Epoch 3:  15%|█▌ | 3/20 [00:01<00:08,  2.0it/s, train/loss=nan]
nan|iter 300: grad_norm nan, NaN or Inf found in input tensor.
nan|  5%|▌ | 5/100 [00:02<00:41,  2.27it/s, val_loss=nan]W0803 09:11:20.340117 140211 x2num.py:14] NaN or Inf found in input tensor.
-|NaN or Inf found in input tensor.
-|WARNING:loss_writer:NaN or Inf found in input tensor.
-|Epoch 3: 100%|█| 20/20 [00:03<00:00,  6.11it/s, loss=0.31, acc=nan]NaN or Inf found in input tensor.
-|Epoch 3: 100%|█| 20/20 [00:03<00:00,  6.11it/s, loss=0.31]NaN or Inf found in input tensor.
-|trainer.loss: NaN or Inf found in input tensor.
-|val_map=nan NaN or Inf found in input tensor.
# a meter whose average is NaN: what one step spoiled stays so
nan|Epoch: [3]  [ 40/500]  eta: 0:12:01  lr: 0.000100  loss: 2.3011 (nan)  loss_giou: 0.51 (0.55)  time: 0.41  data: 0.01
nan|Epoch: [0][20/1251]	Time 0.31 (0.44)	Data 0.00 (0.11)	Loss 6.9123e+00 (nan)	Acc@1 0.00 (0.10)
nan|Train: 3 [  50/1251 (  4%)]  Loss: 6.93 (nan)  Time: 0.412s, 621.10/s  (0.433s, 591.22/s)  LR: 1.000e-06
nan|  iter: 40  loss_mask: 0.71 (nan)  loss_cls: 0.21 (0.20)
nan|iter 40 | loss 0.5120 (avg: nan) | lr 1e-4
nan|step=40 loss=0.512 (avg=nan) lr=1e-4
nan|[40/100] train_loss: 0.5120 [nan] acc: 0.5 [0.4]
nan|loss: 0.3321 (mean nan), acc 0.71
nan|grad_norm: 1.93 (nan)  loss: 0.2 (0.21)
nan|batch 12, loss: 2.3, avg loss: nan
nan|batch 12 loss 2.31 avg nan
nan|cls_loss 0.41(nan) reg_loss 0.22(0.31)
nan|Test: [10/79] Loss 0.4411 (nan) Acc@1 71.1 (70.2)
-|Epoch: [3]  [ 40/500]  loss: 2.3011 (2.4102)  class_error: 51.2 (nan)  time: 0.41
-|Epoch: [0][20/1251]	Loss 6.91 (6.92)	Acc@1 0.00 (nan)	Acc@5 0.00 (nan)
-|acc1: 71.2 (nan)
-|mIoU: 0.41 (nan)
-|loss: 0.51 (nan_steps 0)
-|loss: 0.51 (nan: 0, inf: 0)
-|loss: 0.51 (0.52)  note (nan) marks what was not measured
-|loss 0.5 (nan-safe)
-|psnr: 31.2 (avg nan)
nan|Epoch: [1/30] Step: [200/313] loss: 1.203 (nan) lr: 0.1
nan|Train: [3/300][40/1251]	eta 0:08:11 lr 0.000012	 wd 0.0500	time 0.4031 (0.4102)	loss 6.1201 (nan)	grad_norm 1.9301 (nan)	loss_scale 65536.0000 (65536.0000)	mem 9112MB
nan|loss_bbox_unscaled: 0.05 (nan)
nan|train_loss 0.512 (nan)
nan|Loss 1.23e-01 (nan) Prec 51.2 (50.1)
nan|Losses 1.23 (nan)
nan|ppl 12.3 (nan)
-|time 0.4031 (nan) loss 6.1 (6.2)
-|data_time: nan (nan) loss: 0.5 (0.5)
-|Prec@1 51.2 (nan) Loss 0.3 (0.4)
-|Kappa 0.2 (nan)
-|loss weight 0.5 (nan disabled)
nan|Epoch 3:  15%|█▌ | 3/20 [00:01<00:08,  2.0it/s, v_num=1, train_loss_step=nan.0, loss=nan]
nan|[epoch 3][s 40] loss_total 4.11 (nan), loss_vfl 0.2 (0.3)
nan|step:12 loss_sum:0.33(nan)
nan|Train Epoch: 3 [640/60000 (1%)]	Loss: nan
nan|Loss = {'g': 0.4, 'd': nan}
nan|losses=[nan]
nan|I0303 20:08:32.176491 solver.cpp:228] Iteration 20, loss = nan
nan|{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.01}
nan|Rec loss nan (nan) KL 0.3 (0.2)
nan|2031-01-02 10:00:00 - step 3 - loss: jnp.array(nan)
nan|[G loss: nan] [D loss: 0.71]
nan|Losses: {'train': {'mse': nan}}
nan|loss: nan: : 12it [00:03, 4.0it/s]
nan|desc loss=nan:: 100%|█| 3/3 [00:00<00:00, 9.1it/s]NaN or Inf found in input tensor.
nan|loss nan|: 40%|██ | 4/10 [00:01<00:02, 2.1it/s]
-|loss: 0.31 | val_acc: 0.5 (nan)
-|best_loss: 0.3 (never nan)
-|losses averaged over (nan are left out): 0.41
-|loss 0.51 avg 0.52 nan_count 0
-|mean loss 0.31 [min 0.2, max 0.5]
-|metrics: {'loss': 0.3, 'iou': nan}
-|eval losses: {'loss': 0.3, 'bleu_score': nan}
-|def loss(x, y=nan):
-|print(f"loss: {loss} (nan)")
-|lossless: png (nan)
-|--loss-scale=nan
-|grad_clip: 1.0 (nan off)
-|nan: 0.00%
-|nan_ratio: 0%
# a description that ends in a NaN before its bar
nan|loss: nan:   0%|          | 0/300 [00:00<?, ?it/s]
nan|Train loss=nan:   0% 12/9000 [00:08<1:31:10,  1.64it/s]
nan|loss nan:   0%| | 1/900 [00:01<15:00,  1.00s/it]
nan|Epoch 4 loss: -nan:   0% 3/900 [00:01<15:00,  1.00s/it]
nan|[Epoch 2: 7/26] loss: nan: 0it [00:00, ?it/s]
nan|loss: nan:  41%|████ | 41/100 [00:05<00:08,  7.0it/s]
-|nan: 0
-|nans: 0, infs: 0
-|NaN: 0/512 gradients
-|counts: nan: 0, inf: 0
-|acc: nan:   0%|          | 0/300 [00:00<?, ?it/s]
-|gradients checked, nan: 0% of them
-|loss: 0.31:   0%|          | 0/300 [00:00<?, ?it/s]
# losses listed in brackets
nan|[Epoch 3/100, Batch 12/99] [Losses: x nan, y 0.21, w 0.11, h 0.20, conf 0.75, cls 0.31, total nan, recall: 0.11]
nan|[Epoch 3/100, Batch 12/99] [Losses: x 0.31, y 0.21, w 0.11, h 0.20, conf nan, cls 0.31, total 5.11]
nan|losses: {'loss_cls': 0.31, 'loss_bbox': nan}
nan|Losses: (cls nan, box 0.21)
nan|losses = [0.41, nan, 0.22]
nan|loss: [0.41, nan, 0.22]
-|[Epoch 3/100, Batch 12/99] [Losses: x 0.31, y 0.21, w 0.11, total 5.11] [recall: nan, precision: nan]
-|losses: {'loss_cls': 0.31, 'acc': nan}
-|losses to log: [cls, box]
-|[Losses: x 0.31, y 0.21, total 0.52]
-|[D loss: 0.512, acc.: nan%] [G loss: 0.811]
# values as libraries of arrays write them
nan|step 40 loss: np.float32(nan)
nan|{'loss': np.float64(nan), 'acc': 0.5}
nan|iter 12 loss Array(nan, dtype=float32)
nan|loss=Array(nan, dtype=float32) step=3
nan|loss: DeviceArray(nan, dtype=float32)
nan|Loss: tf.Tensor(nan, shape=(), dtype=float32)
nan|train_loss: <tf.Tensor: shape=(), dtype=float32, numpy=nan>
nan|loss: tensor([nan, 0.2], device='cuda:0')
nan|loss: tensor([0.2, nan], device='cuda:0')
nan|loss: {'total': nan, 'ce': 0.3}
nan|loss = mx.array(nan, dtype=float32)
nan|loss: array(nan, dtype=float32)
nan|loss: jnp.float32(nan)
-|acc: np.float32(nan)
-|Pseudo dice [np.float32(0.0), np.float32(nan)]
-|val_dice: Array(nan, dtype=float32)
-|loss: {'name': 'mse', 'ignore_value': nan}
-|loss: np.float32(0.31)
-|loss: Array(0.31, dtype=float32)
"""
ROWS = [tuple(row.split("|", 1)) for row in CLASSES.strip("\n").split("\n") if row[:2] != "# "]


@pytest.mark.parametrize(("label", "line"), ROWS, ids=[row[1][:60] for row in ROWS])
def test_a_loss_that_is_no_number_is_seen_and_no_other_value(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label if mark.alarm else "-") == label, mark
