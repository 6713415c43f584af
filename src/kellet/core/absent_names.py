"""PyTorch's names of tensors that kellet's do not have; written by docs/list_names.py."""

from __future__ import annotations

# fmt: off
ABSENT_NAMES: frozenset[str] = frozenset("""
H addbmm addbmm_ addr addr_ adjoint apply_ arctan2_ as_strided as_strided_ as_strided_scatter as_subclass
bitwise_left_shift bitwise_left_shift_ bitwise_right_shift bitwise_right_shift_ ccol_indices chalf
cholesky_inverse cholesky_solve coalesce col_indices conj_physical conj_physical_ const_data_ptr
crow_indices cuda dense_dim dequantize diagonal_scatter digamma digamma_ dim_order dsplit eig erfinv
erfinv_ fill_diagonal_ fix fix_ frexp gcd gcd_ geqrf ger grad_dtype hardshrink hash_tensor histogram
hsplit i0 i0_ igamma igamma_ igammac igammac_ index index_reduce index_reduce_ indices int_repr ipu
is_coalesced is_conj is_cpu is_distributed is_inference is_ipu is_maia is_meta is_mkldnn is_mps is_mtia
is_neg is_nested is_pinned is_quantized is_same_size is_set_to is_shared is_sparse is_sparse_csr is_vulkan
is_xla is_xpu istft layout lcm lcm_ ldexp ldexp_ lgamma lgamma_ lstsq lu lu_solve mH map2_ map_ matrix_exp
module_load mtia mvlgamma mvlgamma_ name narrow_copy ndimension new new_empty_strided nextafter nextafter_
nonzero_static orgqr ormqr pin_memory polygamma polygamma_ prelu q_per_channel_axis q_per_channel_scales
q_per_channel_zero_points q_scale q_zero_point qr qscheme record_stream reinforce renorm renorm_ resize
resize_ resize_as resize_as_ resize_as_sparse_ resolve_conj resolve_neg row_indices select_scatter set_
share_memory_ slice_inverse slice_scatter smm solve sparse_dim sparse_mask sparse_resize_
sparse_resize_and_clear_ squeeze_ sspaddmm stft storage storage_offset storage_type sum_to_size svd
swapaxes_ swapdims_ symeig t_ to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr
to_sparse_coo to_sparse_csc to_sparse_csr transpose_ triangular_solve unsafe_chunk unsafe_split
unsafe_split_with_sizes unsqueeze_ untyped_storage values volatile vsplit xpu
""".split())
# fmt: on
