"""The operations that take two tensors, as expressions over `a` and `b`, for every pair of their dtypes.

`m` is the library, `F` its `nn.functional`. The values are small whole numbers, so that every dtype holds
them and the results of floating dtypes are exact or nearly so.
"""

from __future__ import annotations

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
"""Those that PyTorch computes with; of its other unsigned integers it converts hardly any."""

MATRIX, VECTOR, PAIR = "[[1, 0], [1, 1]]", "[1, 1]", "[1, 0]"

OPERATIONS: dict[str, tuple[str, str, str]] = {
    # --- element by element
    **{
        f"a {sign} b": (f"a {sign} b", PAIR, VECTOR)
        for sign in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")
    },
    **{f"a {sign} b": (f"a {sign} b", PAIR, VECTOR) for sign in ("==", "!=", "<", "<=", ">", ">=")},
    **{
        name: (f"m.{name}(a, b)", PAIR, VECTOR)
        for name in (
            *("maximum", "minimum", "atan2", "fmod", "hypot", "logaddexp", "eq", "lt", "ge", "isclose"),
            *("logical_and", "logical_or", "logical_xor", "equal", "allclose", "isin"),
        )
    },
    "div trunc": ("m.div(a, b, rounding_mode='trunc')", PAIR, VECTOR),
    "div floor": ("m.div(a, b, rounding_mode='floor')", PAIR, VECTOR),
    "add alpha": ("m.add(a, b, alpha=1)", PAIR, VECTOR),
    "lerp": ("m.lerp(a, b, 0.5)", PAIR, VECTOR),
    "lerp weight": ("m.lerp(a, a, b)", PAIR, VECTOR),
    "addcmul": ("m.addcmul(a, b, b)", PAIR, VECTOR),
    "addcdiv": ("m.addcdiv(a, b, b)", PAIR, VECTOR),
    "clamp": ("m.clamp(a, b, b)", PAIR, VECTOR),
    "clamp min": ("m.clamp(a, min=b)", PAIR, VECTOR),
    "where": ("m.where(m.tensor([True, False]), a, b)", PAIR, VECTOR),
    "scalar": ("a + b", PAIR, "1"),
    "compared with a scalar": ("a < b", PAIR, "1"),
    # --- in place
    **{
        f"a {sign}= b": (f"a.{name}_(b)", PAIR, VECTOR)
        for sign, name in (
            *(("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("**", "pow"), ("%", "remainder")),
            *(("//", "floor_divide"), ("&", "bitwise_and"), ("|", "bitwise_or"), ("^", "bitwise_xor")),
        )
    },
    "copy_": ("a.copy_(b)", PAIR, VECTOR),
    "fill_": ("a.fill_(b)", PAIR, "1"),
    "lerp_": ("a.lerp_(b, 0.5)", PAIR, VECTOR),
    "addcmul_": ("a.addcmul_(b, b)", PAIR, VECTOR),
    "addcdiv_": ("a.addcdiv_(b, b)", PAIR, VECTOR),
    "clamp_": ("a.clamp_(b, b)", PAIR, VECTOR),
    # --- products
    "a @ b": ("a @ b", MATRIX, MATRIX),
    "matrix @ vector": ("a @ b", MATRIX, VECTOR),
    "mm": ("m.mm(a, b)", MATRIX, MATRIX),
    "mv": ("m.mv(a, b)", MATRIX, VECTOR),
    "dot": ("m.dot(a, b)", VECTOR, VECTOR),
    "bmm": ("m.bmm(a, b)", f"[{MATRIX}]", f"[{MATRIX}]"),
    "outer": ("m.outer(a, b)", VECTOR, VECTOR),
    "cdist": ("m.cdist(a, b)", MATRIX, MATRIX),
    "vecdot": ("m.linalg.vecdot(a, b)", VECTOR, VECTOR),
    "copysign": ("m.copysign(a, b)", VECTOR, VECTOR),
    "addmm": ("m.addmm(a, b, b)", MATRIX, MATRIX),
    "addmm product": ("m.addmm(a, a, b)", MATRIX, MATRIX),
    "addmv": ("m.addmv(a, b, a)", VECTOR, MATRIX),
    "baddbmm": ("m.baddbmm(a, b, b)", f"[{MATRIX}]", f"[{MATRIX}]"),
    "einsum": ("m.einsum('ij,jk->ik', a, b)", MATRIX, MATRIX),
    "einsum of rows": ("m.einsum('ij,j->i', a, b)", MATRIX, VECTOR),
    "einsum of three": ("m.einsum('ij,jk,kl->il', a, a, b)", MATRIX, MATRIX),
    "einsum elementwise": ("m.einsum('i,i->i', a, b)", VECTOR, VECTOR),
    "tensordot": ("m.tensordot(a, b, 1)", MATRIX, MATRIX),
    "linear": ("F.linear(a, b)", MATRIX, MATRIX),
    "linear bias": ("F.linear(a, a, b)", MATRIX, VECTOR),
    "linear vector": ("F.linear(a, b)", MATRIX, VECTOR),
    "bilinear": ("F.bilinear(a, a, b)", MATRIX, f"[{MATRIX}]"),
    "bilinear second": ("F.bilinear(a, b, m.ones(1, 2, 2))", MATRIX, MATRIX),
    # --- places
    "gather": ("m.gather(a, 0, b)", VECTOR, PAIR),
    "index_select": ("m.index_select(a, 0, b)", VECTOR, PAIR),
    "take_along_dim": ("m.take_along_dim(a, b, 0)", VECTOR, PAIR),
    "a[b]": ("a[b]", VECTOR, PAIR),
    "a[0] = b": ("a.__setitem__(0, b) or a", VECTOR, "1"),
    "a[[0]] = b": ("a.__setitem__(m.tensor([0]), b) or a", VECTOR, "1"),
    "a[mask] = b": ("a.__setitem__(m.tensor([True, False]), b) or a", VECTOR, "1"),
    "scatter": ("m.scatter(a, 0, m.tensor([1, 0]), b)", VECTOR, PAIR),
    "scatter index": ("m.scatter(a, 0, b, a)", VECTOR, PAIR),
    "scatter_add": ("m.scatter_add(a, 0, m.tensor([1, 0]), b)", VECTOR, PAIR),
    "scatter_": ("a.scatter_(0, m.tensor([1, 0]), b)", VECTOR, PAIR),
    "scatter_add_": ("a.scatter_add_(0, m.tensor([1, 0]), b)", VECTOR, PAIR),
    "index_add": ("m.index_add(a, 0, m.tensor([1, 0]), b)", VECTOR, PAIR),
    "index_add index": ("m.index_add(a, 0, b, a)", VECTOR, PAIR),
    "index_add_": ("a.index_add_(0, m.tensor([1, 0]), b)", VECTOR, PAIR),
    "masked_fill": ("m.masked_fill(a, m.tensor([True, False]), b)", VECTOR, "1"),
    "masked_fill_": ("a.masked_fill_(m.tensor([True, False]), b)", VECTOR, "1"),
    "masked_fill mask": ("m.masked_fill(a, b, 1)", VECTOR, PAIR),
    "masked_select": ("m.masked_select(a, b)", VECTOR, PAIR),
    "where condition": ("m.where(b, a, a)", VECTOR, PAIR),
    "cat": ("m.cat([a, b])", VECTOR, PAIR),
    "stack": ("m.stack([a, b])", VECTOR, PAIR),
    "embedding": ("F.embedding(b, a)", MATRIX, PAIR),
    # --- layers
    "conv1d": ("F.conv1d(a, b)", f"[{MATRIX}]", f"[{MATRIX}]"),
    "conv1d bias": ("F.conv1d(a, a, b)", f"[{MATRIX}]", "[1]"),
    "conv2d": ("F.conv2d(a, b)", f"[[{MATRIX}]]", f"[[{MATRIX}]]"),
    "conv3d": ("F.conv3d(a, b)", f"[[[{MATRIX}]]]", f"[[[{MATRIX}]]]"),
    "conv_transpose1d": ("F.conv_transpose1d(a, b)", f"[{MATRIX}]", f"[{MATRIX}]"),
    "conv_transpose2d": ("F.conv_transpose2d(a, b)", f"[[{MATRIX}]]", f"[[{MATRIX}]]"),
    "prelu": ("F.prelu(a, b)", VECTOR, "[1]"),
    "layer_norm": ("F.layer_norm(a, (2,), b, b)", MATRIX, VECTOR),
    "rms_norm": ("F.rms_norm(a, (2,), b)", MATRIX, VECTOR),
    "group_norm": ("F.group_norm(a, 1, b, b)", MATRIX, VECTOR),
    "batch_norm": ("F.batch_norm(a, b, b + b)", MATRIX, VECTOR),
    "batch_norm weight": ("F.batch_norm(a, a[0], a[1], b, b)", MATRIX, VECTOR),
    "batch_norm training": ("F.batch_norm(a, b, b + b, training=True)", MATRIX, VECTOR),
    "instance_norm": ("F.instance_norm(a, None, None, b, b)", f"[{MATRIX}]", VECTOR),
    "attention": ("F.scaled_dot_product_attention(a, b, b)", f"[{MATRIX}]", f"[{MATRIX}]"),
    "attention values": ("F.scaled_dot_product_attention(a, a, b)", f"[{MATRIX}]", f"[{MATRIX}]"),
    "attention mask": ("F.scaled_dot_product_attention(a, a, a, attn_mask=b)", f"[{MATRIX}]", MATRIX),
    "cosine_similarity": ("F.cosine_similarity(a, b)", MATRIX, MATRIX),
    "pairwise_distance": ("F.pairwise_distance(a, b)", MATRIX, MATRIX),
    # --- losses
    "cross_entropy": ("F.cross_entropy(a, b)", MATRIX, PAIR),
    "cross_entropy weight": ("F.cross_entropy(a, m.tensor([1, 0]), b)", MATRIX, VECTOR),
    "cross_entropy soft": ("F.cross_entropy(a, b)", MATRIX, MATRIX),
    "cross_entropy soft weight": ("F.cross_entropy(a, a, b)", MATRIX, VECTOR),
    "nll_loss": ("F.nll_loss(a, b)", MATRIX, PAIR),
    "nll_loss weight": ("F.nll_loss(a, m.tensor([1, 0]), b)", MATRIX, VECTOR),
    **{
        name: (f"F.{name}(a, b)", MATRIX, MATRIX)
        for name in (
            *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"),
            *("binary_cross_entropy_with_logits", "kl_div", "hinge_embedding_loss"),
        )
    },
    "mse_loss weight": ("F.mse_loss(a, a, weight=b)", MATRIX, MATRIX),
    "binary_cross_entropy weight": ("F.binary_cross_entropy(a, a, b)", MATRIX, MATRIX),
    "bce with logits weight": ("F.binary_cross_entropy_with_logits(a, a, b)", MATRIX, MATRIX),
    "bce with logits pos_weight": (
        "F.binary_cross_entropy_with_logits(a, a, pos_weight=b)",
        MATRIX,
        MATRIX,
    ),
    "kl_div log_target": ("F.kl_div(a, b, log_target=True)", MATRIX, MATRIX),
    "kl_div batchmean": ("F.kl_div(a, b, reduction='batchmean')", MATRIX, MATRIX),
    "margin_ranking_loss": ("F.margin_ranking_loss(a, b, b)", VECTOR, VECTOR),
    "cosine_embedding_loss": ("F.cosine_embedding_loss(a, b, m.tensor([1, -1]))", MATRIX, MATRIX),
    "triplet_margin_loss": ("F.triplet_margin_loss(a, a, b)", MATRIX, MATRIX),
}
"""By name: the expression, and the values of `a` and of `b`."""
