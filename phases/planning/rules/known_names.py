"""Names of data sets, methods, models and measures that a person of the field knows; open lists, from general knowledge."""

from __future__ import annotations

import re

_DATA_TEXT = """
MNIST CIFAR-10 CIFAR-100 CIFAR10 CIFAR100 CIFAR-10-C CIFAR miniImageNet mini-ImageNet tieredImageNet ImageNet
ImageNet-1k ImageNet-21k ImageNet-C Tiny-ImageNet TinyImageNet Omniglot SVHN CelebA CelebA-HQ LSUN FFHQ AFHQ Fashion-MNIST
FashionMNIST FMNIST EMNIST KMNIST notMNIST STL-10 Caltech-101 Food-101 CUB-200 Flowers-102 Places365 COCO MS-COCO PASCAL-VOC
Cityscapes ADE20K KITTI NYUv2 Kinetics UCF101 HMDB51 LAION LAION-5B iNaturalist Waterbirds GLUE SuperGLUE SQuAD
SNLI MNLI MultiNLI QNLI SST-2 MRPC QQP RTE CoLA XNLI SciTail WikiText-2 WikiText-103 PTB Penn-Treebank WSJ enwik8 text8 C4
OpenWebText FineWeb RedPajama The-Pile SlimPajama BookCorpus Wikipedia Gigaword CoNLL-2003 OntoNotes WMT WMT14 WMT16 IWSLT
IWSLT14 newstest2012 newstest2013 newstest2014 newstest2015 Europarl CNN/DailyMail XSum LibriSpeech TIMIT AudioSet VCTK
Switchboard WSJ0 CommonVoice VoxCeleb ESC-50 GSM8K MATH MMLU HellaSwag ARC PIQA WinoGrande BoolQ HumanEval MBPP AQuA-RAT SVAMP
StrategyQA CommonsenseQA TriviaQA NaturalQuestions HotpotQA WikiTableQuestions TabFact WikiSQL Spider BIG-Bench BBH
TruthfulQA Alpaca AlpacaEval MT-Bench DROP RACE MovieLens MovieLens-1M Netflix Yelp IMDB AG-News 20-Newsgroups Reuters DBpedia
Cora Citeseer Pubmed Reddit ogbn-arxiv ogbn-products PROTEINS MUTAG QM9 ZINC MoleculeNet MIMIC-III Adult COMPAS Iris UCI
Criteo MuJoCo Atari Hopper HalfCheetah Walker2d Ant-v2 Humanoid Reacher Pusher Swimmer CartPole Acrobot MountainCar
LunarLander Pendulum D4RL Meta-World MetaWorld Procgen DeepMind-Control MiniGrid Minecraft StarCraft Overcooked Melting-Pot
TPC-C TPC-H TPC-DS YCSB SmallBank SPEC-CPU SPLASH-2 PARSEC Linpack Sysbench TREC MSMARCO LETOR BEIR ClueWeb SIFT1M GIST1M
ShapeNet ModelNet40 ScanNet Canterbury Calgary Silesia Nyx CESM HACC Hurricane QMCPACK Burgers Navier-Stokes Darcy PDEBench
ETTh1 ETTm1 VCTK LJSpeech
TPC-E SSB LDBC YCSB-A CloudSuite SPECint SPECfp SPECjbb SPECweb HiBench TeraSort LINPACK HPCG NPB Rodinia Parboil PolyBench
STAMP Filebench PostMark IOzone enwik9 LiveJournal Friendster Orkut Graph500 RMAT TED-LIUM TEDLIUM CHiME AISHELL GigaSpeech
FLEURS VoxPopuli WHAM LibriMix Miranda S3D EXAALT Sponza Middlebury Sintel BSDS500 Set5 Set14 Urban100 DIV2K Kodak SuiteSparse
Harwell-Boeing CUTEst Rosenbrock Rastrigin Lorenz-63 Lorenz-96 Kuramoto-Sivashinsky MIPLIB TSPLIB SATLIB OR-Library
"""
_METHODS_TEXT = """
Adam AdamW SGD RMSprop Adagrad AdaGrad Adadelta L-BFGS LBFGS Momentum Nesterov Shampoo LAMB LARS Lion Adafactor Muon K-FAC SVM HMM
XGBoost LightGBM CatBoost BatchNorm LayerNorm RMSNorm GroupNorm BN LN Dropout MixUp CutMix PPO TRPO DQN SAC TD3 DDPG A3C A2C
IMPALA REINFORCE Rainbow MCTS UCT AlphaZero MuZero GAIL MAML Reptile ProtoNet MatchingNet EWC iCaRL GEM A-GEM ER DER LwF LoRA
QLoRA DPO RLHF GRPO MEND ROME DDPM DDIM NeuralODE ByteNet ConvS2S FNO DeepONet LRU LFU ARC LIRS CLOCK FIFO B-tree B+tree
LSM-tree LevelDB RocksDB Redis Memcached MySQL PostgreSQL SQLite MongoDB Cassandra HBase BigTable Dynamo Spark Hadoop
MapReduce Flink Kafka Paxos Raft ZFP FPZIP SZ gzip Gzip zlib Zlib bzip2 Bzip2 LZ4 zstd Snappy
Lasso Ridge LIME SHAP K-means DBSCAN PCA ICA
ISTA FISTA ADMM
ZooKeeper etcd Chubby GFS HDFS Ceph NFS ext3 ext4 XFS Btrfs ZFS Xen KVM VMware QEMU Docker jemalloc tcmalloc TCMalloc Hoard
ptmalloc dlmalloc Nginx memcached MonetDB DuckDB Postgres BerkeleyDB InnoDB Hive Presto Impala Pregel GraphLab GraphX Giraph
Ligra LZMA LZW LZ77 LZ78 LZSS Brotli deflate PPM PPMd Huffman JPEG JPEG2000 PNG FLAC HEVC MGARD GMM-HMM DNN-HMM Kaldi HTK
Tacotron WaveNet GMRES BiCGSTAB MINRES Gauss-Newton Levenberg-Marquardt Nelder-Mead Runge-Kutta CPLEX Gurobi SCIP IPOPT SNOPT
LAPACK MKL FFTW NeRF
"""
_MODELS_TEXT = """
BERT RoBERTa SciBERT DeBERTa DistilBERT ALBERT XLNet ELECTRA GPT ChatGPT Llama LLaMA LLAMA Mistral Mixtral Gemma Gemini Claude
Qwen DeepSeek Phi FLAN T5 BART CLIP ViT DeiT Swin ResNet ResNet-18 ResNet-50 WRN WideResNet VGG DenseNet EfficientNet
MobileNet ConvNeXt LSTM GRU RNN CNN MLP GAN GANs VAE VAEs Transformer Transformers GCN GAT GraphSAGE GIN PINN PINNs
DiT AlexNet wav2vec Stable-Diffusion U-Net UNet LeNet Inception
"""
_MACHINES_TEXT = """
NVIDIA Nvidia Intel AMD Xeon GPU GPUs CPU CPUs TPU TPUs RAM SSD Linux Ubuntu Debian Windows Tesla Quadro GeForce GTX RTX
A100 H100 V100 P100 Google Amazon AWS EC2 Azure Microsoft Facebook Meta OpenAI DeepMind GitHub CUDA PyTorch TensorFlow JAX
Keras Python Java MATLAB NLP AI ML RL IEEE ACM NSF ICML NeurIPS ICLR CVPR EMNLP ACL AAAI USA PDF HTML XML API APIs SQL HTTP
TCP UDP
IBM Sun HP Dell Cray Solaris FreeBSD Opteron Pentium SPARC POWER7 POWER8 POWER9 ARM Haswell Skylake InfiniBand Ethernet GCC
LLVM Clang OpenMP MPI Fortran
"""


def _pattern(text: str, ending: str = r"(?![\w-])") -> re.Pattern[str]:
    names = sorted({re.escape(name).replace(r"\-", "[- ]?") for name in text.split()}, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(names)}){ending}")


_METHODS_IN_WORDS = """
logistic regression|linear regression|ridge regression|kernel regression|random forest|decision tree|naive Bayes
support vector machine|k-means|k-nearest neighbor|nearest neighbor|stochastic gradient descent|gradient descent
maximum entropy|majority class|random search|grid search|bag of words|hidden Markov model|conditional random field
binary search|linked list|skip list|red-black tree|random sampling|uniform sampling|rejection sampling
importance sampling|finite difference|self-training|multi-task learning|fine-tuning|random policy|greedy policy
random walk|linear decay|cosine decay|cosine annealing|cosine schedule|linear schedule|step decay|polynomial decay
inverse square root|majority vote|majority voting|self-consistency|chain-of-thought|in-context learning
behavior cloning|behaviour cloning|Q-learning|simulated annealing|Monte Carlo|Gaussian process|mixture of experts
two-phase locking|optimistic concurrency control|linear scan|full scan|hash join|sort-merge join|nested loop join|chained hashing
linear probing|cuckoo hashing|run-length encoding|arithmetic coding|Huffman coding|conjugate gradient|path tracing|ray tracing
label smoothing|batch normalization|layer normalization
"""


KNOWN_DATA = _pattern(_DATA_TEXT)
METHODS_IN_WORDS = re.compile(
    r"(?<![\w-])(?i:"
    + "|".join(sorted(re.split(r"[|\n]", _METHODS_IN_WORDS.strip()), key=len, reverse=True))
    + r")s?(?![\w-])"
)
"""Methods that are written in small letters."""
KNOWN_METHODS = re.compile(f"{_pattern(_METHODS_TEXT).pattern}|{METHODS_IN_WORDS.pattern}")
KNOWN_MODELS = _pattern(_MODELS_TEXT, r"(?![a-z])")
"""On what methods run, which no method is compared with."""
KNOWN_MACHINES = _pattern(_MACHINES_TEXT)
"""Machines, companies, languages and libraries, which are neither data nor methods."""
_METRICS = (
    "accuracy", "precision", "recall", "F1", "F-measure", "F-score", "AUC", "AUROC", "AUPRC", "ROC", "EER", "BLEU",
    "ROUGE", "METEOR",
    "chrF", "CER", "WER", "word error rate", "phoneme error rate", "perplexity", "bits per dimension", "bits per character",
    "bits per byte", "mean squared error", "root mean squared error", "mean absolute error", "MSE", "RMSE", "NRMSE",
    "MAE", "MAPE",
    "relative L2 error", "relative error", "error rate", "exact match", "EM", "MAP", "mAP", "NDCG", "nDCG",
    "MRR", "IoU", "Dice", "FID",
    "inception score", "IS", "SSIM", "PSNR", "LPIPS", "NLL", "negative log-likelihood", "log-likelihood", "ELBO", "KL divergence",
    "cumulative reward", "average return", "total reward", "reward", "regret", "throughput", "latency",
    "response time", "running time", "runtime", "execution time", "wall-clock time", "computation time", "memory usage",
    "hit rate", "hit ratio", "miss rate", "miss ratio", "compression ratio", "bit rate", "bit-rate", "speedup",
    "speed-up", "win rate", "winning rate",
    "silhouette score", "gradient norm", "correlation", "R2", "success rate", "failure rate", "fidelity",
    "sparsity", "load factor",
    "space utilization", "coverage", "Brier score", "calibration error", "ECE", "loss", "edit distance", "bandwidth",
    "CPU utilization", "fragmentation", "FLOPs", "Kendall's tau", "downtime", "CLIP score", "MCC",
    "IOPS", "goodput", "makespan", "tail latency", "turnaround time", "recovery time", "availability", "abort rate",
    "transactions per second", "operations per second", "requests per second", "queries per second", "frames per second",
    "cache misses", "page faults", "write amplification", "read amplification", "space amplification", "memory footprint",
    "memory overhead", "space overhead", "disk accesses", "query time", "lookup time", "search time", "insertion time",
    "build time", "compression time", "decompression time", "compression speed", "false positive rate",
    "false negative rate", "round-trip time", "packet loss", "bit error rate", "signal-to-noise ratio", "SNR",
    "PESQ", "STOI", "SI-SDR",
    "mean opinion score", "real-time factor", "residual norm", "number of iterations",
    "parallel efficiency", "energy consumption", "power consumption", "GFLOPS", "Chamfer distance", "Hausdorff distance",
)  # fmt: skip
_KIND = (
    r"(?:(?:[Cc]lassification|[Vv]alidation|[Tt]est(?:ing)?|[Tt]rain(?:ing)?|[Tt]op-[15]|OOD|[Aa]verage|[Mm]acro|[Mm]icro"
    r"|[Ww]eighted) )"
)
KNOWN_METRICS = re.compile(
    rf"(?<![\w-]){_KIND}{{0,2}}(?:"
    + "|".join(
        re.escape(name) if name.isupper() else f"[{name[0].upper()}{name[0].lower()}]{re.escape(name[1:])}"
        for name in sorted(_METRICS, key=len, reverse=True)
    )
    + r")(?:s|es)?(?![\w-])"
    # "it returns the node" measures nothing
    r"|(?<![\w-])[Rr]eturns?(?![\w-]| (?:to|the|an?|all|its|their|that|it|them|true|false|from|with|one|both|only|when|if)\b)"
)
"""By what results are measured, with the word before it that says on which data."""
WIDE_METRICS = re.compile(
    r"(?:accuracy|precision|recall|returns?|rewards?|loss|losses|correlation|coverage|sparsity|bandwidth|fidelity|speed-?up|EM|IS|MAP|MAE|latency)$",
    re.IGNORECASE,
)
"""Words that papers also use for other things."""
