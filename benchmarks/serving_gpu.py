"""Call SGLang's and FlashInfer's kernels as built by nvcc and by this package; compare the outputs.

    python benchmarks/serving_gpu.py [--packages FOLDER]... [--only WORD]... [--json FILE] [...]

This needs a GPU, torch, Triton and nvcc; the packages come from the folders (of unpacked wheels) or
are installed. `SGLANG` and `FLASHINFER` call their Python functions. Each row runs with each
build in its own process with empty caches, twice from the same seed, so the first run builds. The
tensors that it creates and returns are compared bit by bit. It then runs from what was built here,
in mode `require`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch
from corpus import _table
from nothing import Finder, without_init

# Imports of the packages that the calls do not use.
UNUSED = "PIL orjson psutil pybase64 pydantic_core pynvml requests starlette torchcodec tqdm zmq"
MADE: list[torch.Tensor] = []

# ---- Arguments ----


def kept(made: torch.Tensor) -> torch.Tensor:
    """Return a tensor on the GPU that is compared after the calls, which may write to it."""
    MADE.append(made.cuda())
    return MADE[-1]


def f(*shape: int) -> torch.Tensor:
    return kept(torch.randn(shape))


def b(*shape: int) -> torch.Tensor:
    return kept(torch.randn(shape).bfloat16())


def h(*shape: int) -> torch.Tensor:
    return kept(torch.randn(shape).half())


def i(*values: int) -> torch.Tensor:
    return kept(torch.tensor(values, dtype=torch.int32))


def z(*shape: int, of: torch.dtype = torch.int32) -> torch.Tensor:
    return kept(torch.zeros(shape, dtype=of))


def below(high: int, *shape: int) -> torch.Tensor:
    return kept(torch.randint(high, shape, dtype=torch.int32))


def some(count: int, of: int) -> torch.Tensor:
    """Return `count` different numbers below `of`."""
    return kept(torch.randperm(of)[:count])


def p(*shape: int) -> torch.Tensor:
    return kept(torch.randn(shape).softmax(-1))


def experts(tokens: int, top: int, of: int) -> torch.Tensor:
    return kept(torch.randn(tokens, of).topk(top).indices.int())


# ---- Calls, by module ----

F8, F32, U8 = torch.float8_e4m3fn, torch.float32, torch.uint8
# fmt: off
SGLANG: dict[str, Callable[[Any], Any]] = {
    "activation.activation": lambda m: [x(b(64, 8192)) for x in (
        m.silu_and_mul, m.gelu_and_mul, m.gelu_tanh_and_mul, m.relu2)],
    "activation.bias_gelu": lambda m: m.bias_gelu_tanh(b(64, 4096), b(4096)),
    "activation.kimi_k3_situ_and_mul": lambda m: m.situ_and_mul(b(64, 4096), None, 4.0, 25.0),
    "activation.silu_and_mul_clamp": lambda m: m.silu_and_mul_clamp(b(64, 4096), b(64, 2048), 7.0),
    "attention.clamp_position": lambda m: m.clamp_position(below(100, 64)),
    "attention.concat_mla": lambda m: [
        m.concat_mla_k(b(16, 128, 192), b(16, 128, 128), b(16, 1, 64)),
        m.concat_mla_absorb_q(b(16, 128, 512), b(16, 128, 64))],
    "attention.dsa.indexer_k": lambda m: [
        m.fused_k_indexer_norm_rope(
            b(16, 192)[:, :128], f(128), f(128), 1e-6, f(4096, 64), below(4096, 16)),
        m.fused_k_indexer_norm_rope_store(
            b(16, 192)[:, :128], z(4, 64 * 132, of=U8), some(16, 256), f(128), f(128), 1e-6,
            f(4096, 64), below(4096, 16).long(), 64)],
    "attention.fast_topk": lambda m: (  # unordered
        m.fast_topk(f(8, 8192), i(*range(9, 8192, 1024)), 512).sort().values),
    "attention.fixup_zero_kv": lambda m: (
        m.fixup_zero_kv_rows(b(16, 8, 128), f(16, 8), i(9, 0, 4), i(0, 4, 12, 16), 8)),
    "attention.fused_qknorm_rope": lambda m: m.fused_qk_norm_rope(
        b(16, 6144), 32, 8, 8, 128, 1e-6, b(128), b(128), 1e4, True, below(4096, 16), 1., 0., 0.,
        1.),
    "attention.kda_packed_decode": lambda m: [
        m.kda_packed_decode(
            b(8, 1024), b(8, 512), b(8, 4), f(4), f(512), 0.1, f(12, 4, 128, 128),
            z(8, 1, 4, 128, of=torch.bfloat16), i(5, 0, 11, -1, 2, 9, 7, 1), 2, bound)
        for bound in (None, -5.0)],
    "attention.qsa_indexer": lambda m: [
        m.qsa_index_q_norm_rope_store(
            b(16, 640), below(4096, 3, 16).long(), f(4096, 64), below(3, 32), b(128),
            some(16, 64), b(64, 128), z(64, 3, of=torch.int64), 4, 64, 1e-6, True, 8, F8),
        m.qsa_index_k_compress_store(
            b(64, 128), below(64, 8, 4), below(4096, 64, 3).long(), f(4096, 64), below(3, 32),
            b(128), some(8, 16).int(), z(16, 128, of=F8), 4, 64, 1e-6, True)],
    "attention.rope": lambda m: [
        m.rotary_embedding(below(4096, 16).long(), b(16, 4096), b(16, 1024), 128, b(4096, 128)),
        m.apply_rope_inplace(
            b(16, 32, 128), b(16, 8, 128), f(4096, 128), below(4096, 16), is_neox=True)],
    "communication.all_reduce": lambda m: all_reduce(m),
    "communication.all_reduce ipc": lambda m: ipc(m),
    "communication.inkling_all_reduce": lambda m: inkling_all_reduce(m),
    "diffusion.activation.gelu_tanh_cat_jit": lambda m: (
        m.fused_gelu_tanh_cat(b(1, 64, 1024), b(1, 64, 4096))),
    "diffusion.layout.usp_relayout_jit": lambda m: m.usp_merge_heads(b(4, 16, 2, 4, 128)),
    "diffusion.modulate.modulate_scale_shift_jit": lambda m: (
        m.modulate_scale_shift_cuda(b(2, 64, 1024), b(2, 1024), b(2, 1024))),
    "diffusion.modulate.timestep_embedding_jit": lambda m: m.timestep_embedding(f(64), 256),
    "diffusion.norm.bias_residual_add_jit": lambda m: (
        m.bias_residual_add(b(2, 128, 16, 16), b(128), b(2, 128, 16, 16))),
    "diffusion.norm.channel_rmsnorm_silu_nhwc_jit": lambda m: (
        m.channel_rmsnorm_silu_nhwc(b(2, 16, 16, 128).permute(0, 3, 1, 2), b(128, 1, 1), 11.3)),
    "diffusion.rope.helios_qk_rope_jit": lambda m: (
        m.fused_inplace_helios_qk_rope(b(64, 8, 128), b(64, 8, 128), f(64, 256))),
    "diffusion.rope.interleaved_rope_fp64_jit": lambda m: m.fused_interleaved_rope_fp64(
        b(1, 64, 8, 128), b(1, 64, 8, 128), f(1, 64, 1, 128).double(), f(1, 64, 1, 128).double()),
    "diffusion.rope.ltx25_decoder_rope_jit": lambda m: m.fused_ltx25_decoder_rope(
        b(1, 2, 4, 6, 8, 64), b(1, 2, 4, 6, 8, 64), f(2, 8), f(2, 8), f(4, 12), f(4, 12),
        f(6, 12), f(6, 12), 16, 24),
    "diffusion.rope.qknorm_rope_jit": lambda m: m.fused_inplace_qknorm_rope(
        b(64, 8, 128), b(64, 8, 128), b(128), b(128), f(4096, 128), below(4096, 64), is_neox=True),
    "diffusion.rope.qwen_qkv_epilogue_jit": lambda m: m.try_fused_qwen_qkv_epilogue(
        *(b(1, tokens, 7, 128) for tokens in (64, 64, 64, 16, 16, 16)),
        *(b(128) for _ in range(4)), f(64, 128), f(16, 128), 1e-6, 1e-6),
    "elementwise.add3": lambda m: m.add3(b(64, 7168), b(64, 7168), b(64, 7168)),
    "elementwise.add_constant": lambda m: m.add_constant(below(100, 1000), 3),
    "elementwise.hc_combine": lambda m: (
        m.hc_combine(b(16, 2560), b(16, 10240), b(16, 10240), b(4, 10240), 4, 2560)),
    "elementwise.mla_output_gate": lambda m: m.kimi_k3_mla_output_gate(b(64, 4096), b(64, 4096)),
    "elementwise.row_scale": lambda m: m.row_scale_bf16(b(64, 4096), f(64)),
    "elementwise.row_sum": lambda m: m.row_sum(f(512, 8)),
    "embeddings.ngram_embedding": lambda m: [
        m.update_token_table(
            below(50, 12), below(50, 4, 64), some(3, 4), i(3, 0, 20), i(5, 1, 6), i(3, 4)),
        m.update_token_table_decode(below(50, 3), below(50, 4, 64), some(3, 4), i(3, 0, 20)),
        m.compute_n_gram_ids(
            3, 2, below(50, 2, 2, 3), i(97, 101, 103, 107).view(2, 2), i(0, 97, 198, 301, 408),
            below(50, 12), i(0, 5, 6, 12), below(50, 4, 64) - 2, some(3, 4), i(3, 0, 20), z(12, 4),
            7),
        m.compute_n_gram_ids_decode(
            3, 2, below(50, 2, 2, 3), i(97, 101, 103, 107).view(2, 2), i(0, 97, 198, 301, 408),
            below(50, 4, 64) - 2, some(3, 4), i(3, 0, 20), z(3, 4), 7)],
    "gemm.dsv3_fused_a_gemm": lambda m: m.dsv3_fused_a_gemm(b(8, 7168), b(2112, 7168).t()),
    "gemm.hopper_bf16_gemv": lambda m: m.hopper_bf16_gemv(b(1, 4096), b(1024, 4096)),
    "gemm.inkling_rel_proj": lambda m: [
        m.rel_proj_small_t(b(4, 32, 16)[:, :16], b(16, 1024), tau) for tau in (None, f(4))],
    "gemm.small_gemm_bf16": lambda m: [
        m.n128k512_gemm_bf16(b(16, 512), b(128, 512)),
        m.n32k5120_gemm_bf16(b(16, 5120), b(32, 5120))],
    "gemm.tiny_gemm": lambda m: m.tiny_gemm_bf16(b(4, 4096), b(64, 4096)),
    "kv_canary.write": lambda m: canary_write(m),
    "kvcache.dsa_fused_store_index_cache": lambda m: (
        m.fused_store_index_k_cache(b(16, 128), z(4, 64 * 132, of=U8), some(16, 256))),
    "kvcache.fused_fp8_qkv_kv_cache": lambda m: m.fused_fp8_qkv_kv_cache(
        b(16, 4096), b(16, 1024), b(16, 1024), z(64, 1024, of=F8), z(64, 1024, of=F8),
        some(16, 64)),
    "kvcache.kvcache": lambda m: (
        m.store_cache(b(16, 1024), b(16, 1024), b(64, 1024), b(64, 1024), some(16, 64))),
    "kvcache.minimax_store_kv_index": lambda m: m.store_kv_index(
        b(16, 1024), b(16, 1024), b(64, 1024), b(64, 1024), b(16, 128), b(64, 128), None, None,
        some(16, 64), num_kv_heads=8, head_bytes=256),
    "kvcache.set_mla_kv_buffer": lambda m: (
        m.set_mla_kv_buffer(b(64, 576), some(16, 64), b(16, 512), b(16, 64))),
    "layernorm.fused_eh_norm": lambda m: (
        m.fused_eh_norm(b(64, 4096), b(64, 4096), b(4096), b(4096), 1e-6)),
    "layernorm.grouped_gemma_rmsnorm": lambda m: (
        m.grouped_gemma_rmsnorm(b(64, 4096), b(4096), 512)),
    "layernorm.mhc_post_combine_norm_prefill": lambda m: m.mhc_post_combine_norm_prefill(
        b(4096, 5120), b(4096, 4, 5120), f(4096, 4), f(4096, 4, 4), f(4096, 4), b(5120), 1e-6),
    "layernorm.muse_spark_norm_gate_jit": lambda m: (
        m.rms_norm_gate(b(64, 4096), b(64, 4096), b(128), head_dim=128, eps=1e-6)),
    "layernorm.norm": lambda m: [
        m.rmsnorm(b(64, 4096), b(4096)),
        m.fused_add_rmsnorm(b(64, 4096), b(64, 4096), b(4096)),
        m.fused_inplace_qknorm(b(64, 32, 128), b(64, 8, 128), b(128), b(128))],
    "layernorm.rmsnorm_hf": lambda m: m.rmsnorm_hf(b(64, 4096), b(4096)),
    "lora.moe.trtllm_lora_temp.kimi_k2_moe_fused_gate": lambda m: [
        m.kimi_k2_moe_fused_gate(b(64, 384), f(384), 8, True, 2.5, True),
        m.kimi_k2_moe_fused_gate(f(520, 256), h(256), 8, True)],  # another kernel, from 513 on
    "lora.moe.trtllm_lora_temp.topk_softmax_pack": lambda m: [
        m.topk_softmax_pack(z(64, 8, of=F32), z(64, 8), z(64, 8), b(64, 128), True, i(60)),
        m.topk_softmax_pack(z(64, 4, of=F32), z(64, 4), z(64, 4), f(64, 512), False)],
    "mamba.causal_conv1d": lambda m: [
        m.causal_conv1d_fwd(b(2, 256, 64), b(256, 4), *[None] * 5, True, -1),
        m.causal_conv1d_update(
            b(2, 256, 1), b(2, 256, 3), b(256, 4), None, True, None, None, -1)],
    "mamba.inkling_sconv": lambda m: [
        m.causal_conv1d(
            b(16, 512), b(512, 4), b(8, 3, 512), i(1, 0).bool().view(2, 1, 1), some(2, 8),
            i(0, 9, 16).long(), i(*[0] * 9, *[1] * 7), "silu"),
        m.update_sconv_cache(
            b(16, 512), b(8, 3, 512), i(5, 2, 7), i(1, 0, 1).bool(), i(0, 2, 3, 16)),
        m.fused_gather_scatter_to_sconv_cache(
            b(16, 512), b(8, 3, 512), below(16, 3, 3), i(1, 0, 1).bool(), some(3, 8)),
        m.fused_causal_conv1d_update_decode(
            b(3, 512), b(512, 4), b(8, 3, 512), i(5, -1, 2), i(1, 1, 0).bool(), "silu", True,
            i(1, 0, 1).bool(), i(6, 0, 7).long()),
        m.fused_draft_extend_sconv_cache(
            b(12, 512), b(8, 3, 512), i(5, 2, 7), i(1, 4, 2), 4, True, i(1, 0, 1).bool(),
            i(2, 0, 3), i(6, 0, 1).long())],
    "moe.cutlass_prepare_moe_input": lambda m: m.cutlass_prepare_moe_input(
        experts(64, 8, 32), z(33), z(32, 3), z(32, 3), z(512), z(512), 32, 2048, 4096),
    "moe.dsv4": lambda m: m.hash_topk(f(64, 256), below(1000, 64).long(), below(256, 1000, 6)),
    "moe.expert_pack_mxfp4": lambda m: [
        m.mxfp4_matvec(
            h(6, 64), mxfp4(4, 1536), below(4, 6), role_offset=17408, role_bytes=8704,
            input_size=64, output_size=256, records_per_input=1),
        m.mxfp4_matvec_dual(
            b(3, 256), mxfp4(4, 1536), below(4, 6), gate_role_offset=0, up_role_offset=8704,
            role_bytes=8704, input_size=256, output_size=64, records_per_input=2)],
    "moe.inkling_gate_topk_renorm": lambda m: [
        *[m.inkling_gate_topk_renorm_v2(
            f(16, 264)[:, :258], f(256), f(1), 2.5, return_packed=x) for x in (False, True)],
        *[m.inkling_gate_gemv(b(x, 6144), b(264, 6144) / 64) for x in (1, 4, 16)],
        *[m.inkling_gate_gemv_fused(
            b(16, 6144), b(264, 6144) / 64, f(256), f(1), 2.5, return_packed=x)
            for x in (False, True)]],
    "moe.minimax_quant_ue8m0": lambda m: m.per_token_quant_fp8_ue8m0_scatter(
        b(16, 1024), z(8, 16, 1024, of=F8), z(8, 2, 16), some(64, 128).int().view(16, 4) - 8,
        experts(16, 4, 8), 4, 16),
    "moe.moe_align": lambda m: (
        m.moe_align_block_size(experts(64, 8, 64), 65, 16, z(1487), z(96), z(1), z(66))),
    "moe.moe_align_single_token": lambda m: m.moe_align_single_token(experts(1, 8, 64), 16),
    "moe.moe_finalize_fuse_shared": lambda m: (
        m.moe_finalize_fuse_shared(b(512, 4096), some(512, 512).int(), f(64, 8), b(64, 4096), 8)),
    "moe.moe_permute_prepare": lambda m: m.moe_permute_prepare(experts(64, 8, 64), 64),
    "moe.moe_route_radix": lambda m: m.route_radix(f(16, 896), f(896), 16, True, 2.5, True),
    "moe.moe_topk_sigmoid": lambda m: m.topk_sigmoid(z(64, 8, of=F32), z(64, 8), f(64, 128), True),
    "moe.moe_topk_softmax": lambda m: m.topk_softmax(z(64, 8, of=F32), z(64, 8), f(64, 128), True),
    "moe.moe_topk_sum": lambda m: m.moe_topk_sum(b(64, 8, 4096), b(64, 4096)),
    "moe.muse_spark_routing_jit": lambda m: (
        m.fused_muse_spark_routing_jit(f(64, 128), f(128), 8, 1.0)),
    "quantization.awq_dequantize": lambda m: (
        m.awq_dequantize(below(2**31 - 1, 512, 64), h(4, 512), below(2**31 - 1, 4, 64))),
    "quantization.fp8_group_major_quant_ue8m0": lambda m: (
        m.sglang_per_token_group_quant_fp8_dsv4_wo_a(b(64, 8, 4096))),
    "quantization.hadamard": lambda m: [
        m.hadamard_transform(b(64, 1024), 0.1), m.hadamard_transform_12n(b(64, 1536), 0.1)],
    "quantization.per_tensor_quant_fp8": lambda m: (
        m.per_tensor_quant_fp8(b(64, 4096), z(64, 4096, of=F8), z(1, of=F32))),
    "quantization.per_token_group_quant": lambda m: m.per_token_group_quant(b(64, 4096)),
    "quantization.per_token_quant_fp8": lambda m: (
        m.per_token_quant_fp8(b(64, 4096), z(64, 4096, of=F8), z(64, 1, of=F32))),
    "speculative.tree": lambda m: trees(m),
}
FLASHINFER: dict[str, Callable[[Any], Any]] = {
    "activation": lambda m: [
        x(b(64, 8192)) for x in (m.silu_and_mul, m.gelu_and_mul, m.gelu_tanh_and_mul)],
    "cascade": lambda m: [
        m.merge_state(h(16, 8, 128), f(16, 8), h(16, 8, 128), f(16, 8)),
        m.merge_states(h(16, 4, 8, 128), f(16, 4, 8))],
    **{f"decode single {dim}": lambda m, dim=dim: (
        m.single_decode_with_kv_cache(h(32, dim), h(1000, 8, dim), h(1000, 8, dim)))
        for dim in (128, 64)},
    **{f"decode batch {dim}": lambda m, dim=dim: batch_decode(m, dim) for dim in (128, 64)},
    "norm": lambda m: [
        m.rmsnorm(b(64, 4096), b(4096)),
        m.gemma_rmsnorm(b(64, 4096), b(4096)),
        m.fused_add_rmsnorm(b(64, 4096), b(64, 4096), b(4096)),
        m.gemma_fused_add_rmsnorm(b(64, 4096), b(64, 4096), b(4096)),
        m.layernorm(b(64, 4096), f(4096), f(4096)),
        m.rmsnorm_quant(z(64, 4096, of=F8), b(64, 4096), b(4096), f(1).exp())],
    "page": lambda m: m.append_paged_kv_cache(
        h(16, 8, 128), h(16, 8, 128), i(*[0] * 10, *[1] * 6), i(*range(10), *range(20, 26)),
        (h(4, 16, 8, 128), h(4, 16, 8, 128)), i(2, 0, 3), i(0, 1, 3), i(10, 10)),
    "quantization.packbits": lambda m: [
        m.packbits(f(1000) > 0), m.segment_packbits(f(1000) > 0, i(0, 300, 1000))],
    "rope": lambda m: [
        m.apply_rope(h(64, 32, 128), h(64, 8, 128), i(0, 24, 64), i(0, 5)),
        m.apply_rope_pos_ids(h(64, 32, 128), h(64, 8, 128), below(4096, 64)),
        m.apply_llama31_rope(h(64, 32, 128), h(64, 8, 128), i(0, 24, 64), i(0, 5)),
        m.apply_rope_with_cos_sin_cache(
            below(4096, 64), h(64, 4096), h(64, 1024), 128, f(4096, 128))],
    "sampling": lambda m: [
        m.softmax(f(16, 32000)),
        m.sampling_from_probs(p(16, 32000), seed=7, offset=0),
        m.top_k_sampling_from_probs(p(16, 32000), 50, seed=7, offset=0),
        m.top_p_sampling_from_probs(p(16, 32000), 0.9, seed=7, offset=0),
        m.min_p_sampling_from_probs(p(16, 32000), 0.1, seed=7, offset=0),
        m.top_k_top_p_sampling_from_probs(p(16, 32000), 50, 0.9, seed=7, offset=0),
        m.top_k_renorm_probs(p(16, 32000), 50),
        m.top_p_renorm_probs(p(16, 32000), 0.9),
        m.top_k_mask_logits(f(16, 32000), 50)],
    "topk": lambda m: m.top_k(f(16, 32000), 64, sorted=True, deterministic=True),
}
# fmt: on
ROWS = {f"flashinfer.{name}": calls for name, calls in FLASHINFER.items()}
ROWS |= {f"sglang.kernels.ops.{name}": calls for name, calls in SGLANG.items()}


def batch_decode(module: Any, dim: int) -> Any:
    """Decode three requests over pages of 16."""
    made = module.BatchDecodeWithPagedKVCacheWrapper(torch.zeros(32 << 20, dtype=U8).cuda())
    made.plan(i(0, 3, 4, 12), some(12, 12).int(), i(5, 16, 1), 32, 8, dim, 16)
    return made.run(h(3, 32, dim), (h(12, 16, 8, dim), h(12, 16, 8, dim)), return_lse=True)


def all_reduce(module: Any) -> Any:
    """Reduce as the first of two ranks; the data and signals of the second are already there."""
    sent, sums, signals = z(2, 4, 1 << 15, of=torch.bfloat16), z(2, 4, 256, of=F32), z(2, 16, 32)
    sent[0, 1::2] = b(2, 1 << 15)
    sums[0, 0].view(-1, 2, 2)[:8, 1] = f(8, 2).square() + 500
    signals[0, :, 0] = 4  # of two all-reduces
    pushes = (
        module.PushPlane(0, 2, workspaces=[*x.view(U8)], counter=z(16, 1).view(U8))
        for x in (sent, sums)
    )
    pull = module.PullPlane(
        0, 2, workspaces=[*b(2, 1 << 15).view(U8)], semaphores=[*signals.view(U8)]
    )
    both, norm = module.Communicator(next(pushes), pull), module.Communicator(next(pushes))
    module.fused_parallel_qknorm(norm, b(8, 1024), b(8, 256), b(1024), b(256))
    return [module.custom_all_reduce(both, b(8, 4096), x) for x in module.AllReduceAlgo]


def ipc(module: Any) -> torch.Tensor:
    """Open what this process itself exports, which yields the same address."""
    manager, address = module.IPCManager(), f(64, 64).data_ptr()
    [opened] = manager.batch_open_handles(manager.batch_get_handles([address]))
    return torch.tensor(opened - address)


def inkling_all_reduce(module: Any) -> None:
    """Reduce as the first of two ranks; the second has already signaled."""
    data, flags = b(2, 1 << 15), z(2, module.flags_numel(2))
    flags[0, 1] = 2  # at the start and at the end
    # Addresses, which must not be compared.
    to_data, to_flags = (torch.tensor([y.data_ptr() for y in x]).cuda() for x in (data, flags))
    pointers = to_data.data_ptr(), to_flags.data_ptr(), z(module.STATE_SIZE).data_ptr()
    reduce = module.inkling_two_shot_all_reduce_fused
    reduce(data[0], *pointers, 0, 2, 1 << 15, 4, 512, b(1 << 15))


def canary_write(module: Any) -> torch.Tensor:
    """Write three requests' tokens; return the violations, which are unordered."""
    verify = importlib.import_module(f"{module.__package__}.verify")
    violations, slots = torch.zeros(64, 8, dtype=torch.int64).cuda(), some(12, 60)
    slots[3] = -1
    source = verify.RealKvSource(
        tensor=b(16, 128), page_size=4, num_bytes_per_token=64, read_bytes=32
    )
    module.launch_canary_write_kernel(
        context=module.VerifyOrWriteContext(
            canary_buf=some(256, 256).view(64, 4).view(U8),
            kernel_kind=verify.CanaryLaunchTag.TAIL_K_FULL,
            violation_ring=violations,
            violation_write_index=z(1),
            slot_run_counter=z(1, of=torch.int64),
            kernel_run_counter=z(1, of=torch.int64),
            real_kv_sources=(source,),
            real_kv_hash_mode=module.consts.RealKvHashMode.ALL,
            enable_chain_position_assert=i(1),
        ),
        plan=module.WritePlan(
            write_offsets=i(0, 5, 6, 12).long(),
            write_seed_slot_indices=i(-1, 60, 61).long(),
            write_num_valid_reqs=i(3),
        ),
        input_ids=below(2, 12).long(),
        positions=below(100, 12).long(),
        out_cache_loc=slots,
        enable_write_input_assert=True,
        expected_input_tokens=below(2, 12).long(),
        expected_input_positions=below(100, 12).long(),
    )
    return violations.sort(0).values


def mxfp4(slots: int, blocks: int) -> torch.Tensor:
    """Return blocks of 32 numbers: an exponent byte, then 16 bytes of two digits each."""
    exponents, digits = below(8, slots, blocks, 1) + 120, below(256, slots, blocks, 16)
    return torch.cat([exponents, digits], -1).to(U8).view(slots, -1)


def trees(module: Any) -> None:
    """Build two trees of six drafts each with three kinds of masks; reconstruct and verify them."""
    parents = i(-1, 0, 1, 2, 5, -1, 0, 1, 2, 3).long().view(2, 5)
    selected = i(0, 1, 2, 5, 6, 9, 0, 1, 2, 3, 7, 8).long().view(2, 6)
    lengths, long = i(3, 5).long(), torch.int64
    masks = z(154, of=torch.bool), z(98, of=torch.bool), z(14, of=U8)
    for mode, mask in enumerate(masks):
        links = [kept(torch.full((2, 7), -1)) for _ in range(3)]
        module.build_tree_kernel_efficient(
            parents, selected, lengths, mask, z(14, of=long), *links, 2, 3, 7, mode
        )
    found = [z(2, 7, of=long) for _ in range(3)]
    module.reconstruct_indices_from_tree_mask(masks[1], lengths, z(14, of=long), *found, 2, 7)
    drafts, targets = below(2, 2, 7).long(), below(2, 2, 7).long()
    module.verify_tree_greedy(z(14), z(2, 4), z(2), drafts, *links, targets)


# ---- A row by one build, in its own process ----


def run(row: str, side: str, packages: list[str], to: Path) -> None:
    """Save the outputs of the calls, and which compiler built the modules that were loaded."""
    sys.path[:0] = packages
    sys.meta_path.append(Finder(*UNUSED.split()))
    without_init("sglang", "flashinfer")
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills uninitialized memory
    paths, warnings = watched()
    if side != "nvcc":
        importlib.import_module(f"tvmffi_cubin.integrations.{row.partition('.')[0]}")
    module = importlib.import_module(row.split()[0])
    torch.zeros(1).cuda()  # creates the context
    (made, first), (again, second) = (outputs(module, ROWS[row]) for _ in range(2))
    of_nvcc = sum("built by nvcc" in x for x in warnings)
    here = sum(x.startswith(os.environ["TVMFFI_CUBIN_CACHE_DIR"]) for x in paths) - of_nvcc
    builders = {"here": here, "nvcc": len(paths) - here}
    found = {"seconds": first - second, "builders": builders, "warnings": warnings}
    torch.save({**found, "made": made, "twice": differences(made, again)}, to)


def watched() -> tuple[list[str], list[str]]:
    """Return lists that collect the modules that tvm-ffi loads and our warnings from now on."""
    tvm_ffi = importlib.import_module("tvm_ffi")
    load, handler = tvm_ffi.load_module, logging.Handler()
    paths: list[str] = []
    warnings: list[str] = []
    tvm_ffi.load_module = lambda path, *x, **y: paths.append(str(path)) or load(path, *x, **y)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("tvmffi_cubin").addHandler(handler)
    return paths, warnings


def outputs(module: Any, calls: Callable[[Any], Any]) -> tuple[list[torch.Tensor], float]:
    """Return the tensors of a run, and its time in seconds."""
    MADE.clear()
    torch.manual_seed(0)
    start = time.perf_counter()
    returned = calls(module)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return [x.contiguous().cpu() for x in (*MADE, *tensors(returned))], seconds


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for x in value:
            yield from tensors(x)


def differences(one: list[torch.Tensor], other: list[torch.Tensor]) -> list[str]:
    """Return a line for each tensor that differs."""
    lines = []
    for number, (x, y) in enumerate(zip(one, other, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            lines.append(f"tensor {number}: {x.dtype} {[*x.shape]}, {y.dtype} {[*y.shape]}")
        elif not torch.equal(x.view(-1).view(U8), y.view(-1).view(U8)):
            by = (x.double() - y.double()).abs()
            lines.append(
                f"tensor {number}: {int((by != 0).sum())} of {x.numel()} by up to {by.max():.3g}"
            )
    return lines


# ---- All rows ----


def compared(row: str, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the results of a row by both builds."""
    own = {side: Path(tempfile.mkdtemp(dir=folder)) for side in ("nvcc", "here")}
    own["layer"] = own["here"]
    sides = {side: process(row, side, given, caches) for side, caches in own.items()}
    wrong = [f"{side}: {x['error']}" for side, x in sides.items() if "error" in x]
    made = [x.pop("made", []) for x in sides.values()]
    if not wrong:
        one, *others = made
        wrong = [line for other in others for line in differences(one, other)]
        for side, x in sides.items():
            wrong += [f"{side}, twice: {line}" for line in x["twice"]]
    return {"row": row, "wrong": wrong, **sides}


def process(row: str, side: str, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    to = folder / side
    to.mkdir()
    caches = (
        "FLASHINFER_WORKSPACE_BASE SGLANG_JIT_CACHE_DIR TVMFFI_CUBIN_CACHE_DIR TRITON_CACHE_DIR"
    )
    env = {name: value for name, value in os.environ.items() if name != "CC"}
    env |= {name: f"{folder}/{name}" for name in caches.split()}
    env |= {"MAX_JOBS": "2", "TVMFFI_CUBIN_PCH": "off"}  # they help only later builds
    env |= {"TVMFFI_CUBIN_CACHE": "require"} if side == "layer" else {}
    words = [sys.executable, __file__, "--row", row, "--side", side, "--to", f"{to}/made"]
    words += [f"--packages={os.path.abspath(x)}" for x in given.packages]
    left = max(min(given.timeout, given.until - time.monotonic()), 0)
    with (to / "log").open("w") as log:
        # It starts compilers, which must end with it.
        started = subprocess.Popen(words, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            started.wait(left)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            return {"error": f"still running after {left:.0f} s"}
    said = (to / "log").read_text()[-3000:]
    if started.returncode:
        return {"error": f"ended with {started.returncode}: {said.strip()[-200:]}", "log": said}
    return {**torch.load(to / "made"), "log": said}


def table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        line = [row["row"].replace("kernels.ops.", "")]
        for found in (row["nvcc"], row["here"]):
            by = [
                f"{count} by {name}" for name, count in found.get("builders", {}).items() if count
            ]
            line += [f"{found['seconds']:.1f}" if by else "", ", ".join(by)]
        line.append(f"{row['layer'].get('seconds', 0):.2f}")
        lines.append((*line, "; ".join(row["wrong"]).replace("\n", " ")[:300] or "yes"))
    columns = ("module", "nvcc, s", "built", "here, s", "built", "from a layer, s", "the same")
    return _table(*columns, rows=lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--packages", action="append", default=[], help="a folder of packages")
    parser.add_argument("--only", action="append", default=[], help="rows with a word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=200, help="seconds of one process")
    parser.add_argument("--seconds", type=float, default=450, help="after which all end")
    parser.add_argument("--json", type=Path, help="where the results go")
    for name in ("row", "side", "to"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        run(given.row, given.side, given.packages, Path(given.to))
        return 0
    given.until = time.monotonic() + given.seconds
    names = [x for x in ROWS if not given.only or any(word in x for word in given.only)]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        for done in as_completed(pool.submit(compared, x, given, Path(folder)) for x in names):
            rows.append(done.result())
            print(table(rows[-1:]).splitlines()[-1], flush=True)
            if given.json:
                given.json.write_text(json.dumps(rows))
    same = sum(not row["wrong"] for row in rows)
    rows.sort(key=lambda row: names.index(row["row"]))
    print("", table(rows), "", f"{same} of {len(rows)} the same", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
