"""Every setting that the paper states, one constant each (Table 1)."""

from __future__ import annotations

VOCABULARY = 5000  # R24, V2, section 4.1, page 2: tokens are 0 to V - 1
SHORTEST_BAG = 10  # R12, appendix A, page 4
LONGEST_BAG = 30  # R12, appendix A, page 4
TRAINING_SIZE = 10_000  # R25, V3, section 4.1, page 2
TEST_SIZE = 5_000  # R25, section 4.1, page 2
NOISE_RATES = (0.0, 0.1, 0.2)  # R13, section 4.1, page 2
SEEDS = (0, 1, 2, 3, 4)  # R22, section 4.3, page 2
SHUFFLE_SEED = 1000  # R14, appendix A, page 4: the seed of the data is added to it

ETA = 1.0  # R23, V1, section 3.2, page 1: the learning rate
BITS = 14  # R3, table 1, page 3: D = 2**14 buckets where nothing else is said
ALL_BITS = (8, 10, 12, 14, 16)  # R28, table 3, page 4

MARGIN_PERCEPTRON_GAMMA = 1.0  # R26, table 1, page 3: chosen on seed 100, like all that follow in this block
AP_M_GAMMA = 0.25  # R26, table 1, page 3
AP_M_T_GAMMA = 0.25  # R26, table 1, page 3
AP_M_T_KAPPA = 0.5  # R26, table 1, page 3
PA_C = 1.0  # R26, table 1, page 3
SGD_ETA_0 = 100.0  # R26, table 1, page 3

TUNING_SEED = 100  # R27, section 4.3, page 2
TUNING_NOISE = 0.1  # R27, section 4.3, page 2
GAMMA_GRID = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # R27, table 1, page 3
KAPPA_GRID = (0.25, 0.5, 0.75)  # R27, table 1, page 3: all pairs with the grid of gamma
C_GRID = (0.1, 0.3, 1.0, 3.0)  # R27, table 1, page 3
ETA_0_GRID = (10.0, 30.0, 100.0, 300.0)  # R27, table 1, page 3

MARGINS = (0.0, 0.5, 1.0, 2.0, 4.0)  # R29, table 4, page 4
EPOCHS = (1, 5)  # R29, table 4, page 4
