"""A tiny random model of each causal architecture of transformers that can be built from its config
alone."""

import inspect

import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

WIDTH, INNER, PARTS, POSITIONS = 32, 48, 8, 600
TOKENS = {"pad_token_id": 257, "bos_token_id": 256, "eos_token_id": 258}
# Settings by the value that makes a model tiny, as the architectures spell them.
SPELLINGS = {
    WIDTH: "hidden_size d_model n_embd dim word_embed_proj_dim embedding_size n_embed dim_model "
    "attention_hidden_size lru_width index_topk",
    INNER: "intermediate_size ffn_dim d_ff n_inner dff decoder_ffn_dim encoder_ffn_dim dim_ff "
    "inner_dim ffn_hidden_size intermediate_size_mlp ffn_intermediate_size mlp_dim "
    "dense_intermediate_size",
    24: "moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size "
    "moe_shared_expert_intermediate_size shared_intermediate_size",
    4: "num_hidden_layers n_layer n_layers num_layers num_attention_heads n_head n_heads num_heads "
    "decoder_attention_heads encoder_attention_heads num_decoder_attention_heads num_experts "
    "num_encoder_attention_heads num_local_experts n_routed_experts moe_num_experts "
    "linear_num_value_heads swa_num_attention_heads",
    3: "decoder_layers encoder_layers num_decoder_layers num_encoder_layers",
    2: "num_key_value_heads num_kv_heads num_experts_per_tok moe_topk moe_k num_experts_per_token "
    "index_n_heads linear_num_key_heads global_num_key_value_heads num_global_key_value_heads "
    "swa_num_key_value_heads mamba_expand",
    1: "n_group topk_group n_shared_experts num_shared_experts first_k_dense_replace "
    "zero_expert_num",
    PARTS: "head_dim attention_head_dim d_kv qk_nope_head_dim qk_rope_head_dim v_head_dim "
    "index_head_dim mamba_n_heads mamba_d_head mamba_d_state mamba_num_heads mamba_head_dim "
    "state_size ssm_state_size linear_key_head_dim linear_value_head_dim global_head_dim "
    "swa_head_dim swa_v_head_dim hidden_size_per_layer_input",
    16: "kv_lora_rank q_lora_rank qk_head_dim",
    64: "mamba_d_ssm",
    259: "vocab_size vocab_size_per_layer_input",
    POSITIONS: "max_position_embeddings n_positions n_ctx max_seq_len",
}
TINY = {name: size for size, names in SPELLINGS.items() for name in names.split()}
# Thresholds below and above which models differ, shorter than the texts of the tests.
SHORT = dict.fromkeys(
    [
        "sliding_window",
        "attention_chunk_size",
        "window_size",
        "local_attention",
        "attention_window",
    ],
    24,
) | {"floor_scale": 64}
LATENT = {"num_key_value_heads": 4}  # one for each head
MIXED = {"num_hidden_layers": 6, "layer_types": ["sliding_attention", "full_attention"] * 3}
SHARED = {"num_kv_shared_layers": 2}
OWN = {
    **dict.fromkeys(
        ["axk1", "deepseek_v2", "deepseek_v3", "minicpm3", "longcat_flash", "youtu"], LATENT
    ),
    **dict.fromkeys(["glm4_moe_lite", "glm_moe_dsa", "deepseek_v32", "mistral4"], LATENT),
    **{key: {"rotary_dim": 4} for key in ("codegen", "gptj")},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "gemma3n_text": {**MIXED, **SHARED, "laurel_rank": 8, "activation_sparsity_pattern": [0.0] * 6},
    "gemma4_text": {**MIXED, **SHARED},
}
KINDS = sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def config_of(kind, **changes):
    cls = transformers.CONFIG_MAPPING[kind]
    known = {*inspect.signature(cls.__init__).parameters, *getattr(cls, "__annotations__", {})}
    known |= {*getattr(cls, "__dataclass_fields__", {}), *cls().to_dict()}
    settings = {name: size for name, size in (TINY | changes).items() if name in known}
    for name, other in (getattr(cls, "attribute_map", None) or {}).items():
        if other in settings:  # one setting under two names
            settings.pop(name, None)
    decoder = {"is_decoder": True} if "is_decoder" in known else {}
    return cls(**settings | OWN.get(kind, {}) | TOKENS | decoder)


def weighted(config):
    """A model whose attention matters. Raises ValueError for one that is not tiny."""
    with torch.device("meta"):
        meta = transformers.AutoModelForCausalLM.from_config(config)
    if (size := sum(p.numel() for p in meta.parameters())) > 10**7:
        raise ValueError(f"{size} parameters: a setting of its size has another name")
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval().float()
    for parameter in model.parameters():
        spread = float(parameter.std()) if parameter.dim() > 1 else 0.0
        if 0 < spread < 0.1:
            parameter.data *= min(0.2 / spread, 10.0)
    model.generation_config = transformers.GenerationConfig(**TOKENS)
    return model


def built(kind, **changes):
    """A model of two layers where the first two have all that its layers differ in. Raises whatever
    its classes raise."""
    config = config_of(kind, **changes)
    layers = config.num_hidden_layers
    lists = [v for v in vars(config).values() if isinstance(v, list) and len(v) == layers]
    if kind not in OWN and all(v in values[:2] for values in lists for v in values):
        names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
        try:
            model = weighted(config_of(kind, **changes | dict.fromkeys(names, 2)))
            model(torch.tensor([[1, 2, 3]]))
            return model
        except Exception:
            pass
    return weighted(config)
