"""The statement: which functions may run while data is read and built, and nothing has been called yet.

A name is "module:qualified name" for a function in Python, "C owner.name" or "C module:name" for one in C. A
name that ends in "*" takes in all that begin like it. In data alone everything else that runs is a finding.
Beside code, what stored code defines may run as well, and nothing of a class of an extern.
"""

from __future__ import annotations

import re
from typing import Final

# Our own rooms: those that a load goes through, and nothing of the commands, the exporter or the tests.
OURS: Final = """
    packager.archive.* packager.codecs.* packager.errors:* packager.process:* packager.lazy:*
    packager.libraries:* packager.loading.loaded_archive:* packager.loading.opening:*
    packager.loading.packaged_code:PackagedCode.* packager.loading.packaged_code:DisallowedModuleError*
    packager.loading.packaged_code:ImportRules.* packager.loading.stored_objects:* packager.names:*
    packager.objects.* packager.tensors.* packager.texts:*
    packager.package_importer:*
"""

# kellet: making tensors, modules and handles, and loading a state with the methods of our own classes.
KELLET: Final = """
    kellet.autograd.bridge:Counter.__init__ kellet.autograd.bridge:wrap
    kellet.autograd.variable:Variable.grad_fn kellet.autograd.variable:Variable.is_leaf
    kellet.autograd.variable:Variable.requires_grad* kellet.autograd.variable:counter_of
    kellet.autograd.modes:* kellet.autograd.variable:Variable.data*
    kellet.autograd.variable:Variable.detach kellet.core.creation:* kellet.core.axes:shape_of*
    kellet.core.conversion:Conversion.device kellet.core.conversion:Conversion.numpy
    kellet.core.device:* kellet.core.tensor:Tensor.detach kellet.core.tensor:Tensor.shape
    kellet.core.tensor:Tensor.data kellet.core.tensor:Tensor.__init__ kellet.core.tensor:Tensor.clone
    kellet.core.tensor:Tensor.dtype kellet.dtypes:* kellet.errors:* kellet.hooks:HookRegistry.__init__
    kellet.hooks:HookRegistry.__bool__ kellet.hooks:HookRegistry.__iter__*
    kellet.hooks:RemovableHandle.__init__ kellet.hooks:RemovableHandle.attach
    kellet.nn.hook:HookGate.__init__ kellet.nn.layers.*:*._load_from_state_dict
    kellet.nn.layers.normalization:_add_batch_counter kellet.nn.load_plan:* kellet.nn.load_state_dict:*
    kellet.nn.members:Members.__getattr__ kellet.nn.members:Members.__init__
    kellet.nn.members:Members.__setattr__ kellet.nn.module:HookedModule.*
    kellet.nn.module:Module.__setstate__ kellet.nn.module:Module.__init__
    kellet.nn.module_hooks:CallHooks.__init__ kellet.nn.module_hooks:ModuleCall._own_call_hooks
    kellet.nn.parameter:* kellet.nn.state_dict:StateDict.__init__
    kellet.nn.state_dict:StateHooks.__init__ kellet.nn.state_dict:StateSaving._own_state_hooks
    kellet.nn.state_dict:StateView.__init__ kellet.nn.storing:* kellet.nn.tree:ModuleTree.*
    kellet.optim.*:*.__setstate__ kellet.optim.optimizer:Optimizer._make_hooks
"""

# Constructors of the library that keep what they are given, and methods of exact types that are keys.
LIBRARY: Final = """
    collections:ChainMap.__init__ collections:Counter.__init__ collections:Counter.update
    contextlib:_Gen* contextlib:contextmanager.* dataclasses:* functools:cached_property.__get__
    importlib:import_module typing:cast threading:RLock <frozen _collections_abc>:MappingView.__init__
    <frozen _collections_abc>:Mapping.items <frozen _collections_abc>:ItemsView.__iter__
    <frozen _collections_abc>:Mapping.get msgpack:packb functools:cached_property.__set_name__
    enum:EnumType.__repr__ <string>:* <frozen importlib._bootstrap>:_handle_fromlist
    <frozen importlib._bootstrap>:_gcd_import <frozen importlib._bootstrap>:_find_and_load
    <frozen importlib._bootstrap>:_sanity_check <frozen abc>:*
    <frozen _collections_abc>:*.__subclasshook__ <frozen _collections_abc>:_check_methods
    enum:Enum.__hash__ enum:Enum.__new__ enum:Enum.value enum:EnumType.__call__
    enum:EnumType.__members__ enum:EnumType.__getattr__ enum:Flag.* enum:_* enum:property.__get__
    fractions:Fraction.__new__ fractions:Fraction.__hash__ fractions:Fraction.__eq__
    fractions:Fraction.numerator fractions:Fraction.denominator uuid:UUID.__hash__ uuid:UUID.__eq__
    ipaddress:* pathlib:PurePath.__new__ pathlib:PurePath.__hash__ pathlib:PurePath.__eq__
    pathlib:PurePath._* pathlib:_* pathlib._local:PurePath._*
    pathlib._local:PurePath.drive pathlib._local:PurePath.root <frozen ntpath>:join
    <frozen ntpath>:splitroot <frozen ntpath>:normcase <frozen posixpath>:join <frozen posixpath>:_get_sep
    <frozen posixpath>:splitroot <frozen posixpath>:normcase
    random:Random.__init__ random:Random.seed random:Random.setstate
    re:* re._*:* logging:Filterer.* logging:Logger.__init__ logging:Manager.*
    logging:_* logging:getLogger weakref:finalize.__init__
"""

# NumPy: making arrays, dtypes and generators; what its subclasses do when a view of them is taken.
NUMPY: Final = """
    numpy._core._ufunc_config:errstate* numpy._core.multiarray:* numpy._core.numerictypes:*
    numpy._core._internal:* numpy._core._dtype:* numpy._core.arrayprint:_get_legacy_print_mode
    numpy._core.records:recarray.* numpy.matrixlib.defmatrix:matrix.* numpy.lib._stride_tricks_impl:*
    numpy._core.numeric:isscalar numpy.lib._function_base_impl:iterable numpy._core.fromnumeric:_*
    numpy._core.fromnumeric:ravel numpy._core.fromnumeric:reshape numpy._core.fromnumeric:resize
    numpy._core.fromnumeric:shape numpy.ma.core:MaskedArray.__array_finalize__
    numpy.ma.core:MaskedArray.__new__ numpy.ma.core:MaskedArray._update_from
    numpy.ma.core:MaskedArray.dtype numpy.ma.core:MaskedArray.shape numpy.ma.core:_*
    numpy.ma.core:default_fill_value* numpy.ma.core:getmask* numpy.ma.core:make_mask_*
"""

# PyTorch: making tensors over memory, modules without a state, handles; loading a state; an optimiser's own
# `__setstate__`, whose options were looked at; the hooks of the norms that data alone may have.
TORCH: Final = """
    torch.nn.parameter:* torch.nn.modules.module:Module.__init__
    torch.nn.modules.module:Module.__setstate__ torch.nn.modules.module:Module.load_state_dict*
    torch.nn.modules.*:*._load_from_state_dict* torch.nn.modules.module:Module.__getattr__
    torch.nn.modules.module:Module.__setattr__* torch.nn.modules.module:Module.register_forward_pre_hook
    torch.nn.modules.module:Module._register_* torch.nn.modules.module:Module.register_parameter
    torch.nn.modules.module:Module.register_buffer torch.nn.modules.module:_WrappedHook.*
    torch.nn.modules.module:_addindent torch.nn.modules.module:Module._get_name
    torch.nn.modules.module:Module.set_extra_state torch.nn.modules.module:_IncompatibleKeys.*
    torch.nn.modules.rnn:RNNBase.* torch.nn.utils.spectral_norm:*
    torch.optim.*:*.__setstate__ torch.optim.optimizer:Optimizer._patch_step_function
    torch.optim.optimizer:Optimizer.profile_hook_step* torch.optim.optimizer:_get_scalar_dtype
    torch._tensor:Tensor.__hash__ torch._tensor:Tensor.__torch_function__ torch._tensor:_convert*
    torch.__future__:get_swap_module_params_on_conversion torch.utils.hooks:RemovableHandle.*
    torch.utils._contextlib:* torch.autograd.grad_mode:* torch._jit_internal:is_scripting
    torch:is_tensor torch.overrides:is_tensor_like functools:update_wrapper functools:wraps
    typing:ParamSpec* typing_extensions:deprecated.* C _warnings:warn C super.*Meta.__instancecheck__
    C torch:empty C torch:zeros C torch:frombuffer C torch:tensor C torch:sparse_* C torch:_make_per_*
    C torch:_neg_view C torch:is_grad_enabled C torch:get_default_dtype C torch._C:_log_api_usage_once
    C torch._C:_set_grad_enabled C torch._C.TensorBase.* C torch._C.Generator.* C None:_make_subclass
    C _make_subclass C torch:is_grad_enabled
"""

# Functions in C: of containers, text, numbers and NumPy, but no `str.format`, and no listed function.
# `getattr` is asked for names that packager wrote; what `hash` or `repr` of an object runs shows as a frame.
IN_C: Final = """
    C list.* C dict.* C set.* C frozenset.* C tuple.* C bytes.* C bytearray.* C int.* C float.*
    C str.count C str.encode C str.endswith C str.find C str.isascii C str.isdecimal C str.isdigit
    C str.isidentifier C str.isalnum C str.isalpha C str.join C str.lower C str.lstrip C str.partition
    C str.removeprefix C str.removesuffix C str.replace C str.rfind C str.rpartition C str.rsplit
    C str.rstrip C str.split C str.startswith C str.strip C memoryview.cast C memoryview.tobytes
    C memoryview.toreadonly C mappingproxy.* C collections.OrderedDict.* C collections.deque.extend
    C generator.throw C array.array.frombytes C array.array.tolist
    C functools.partial.__setstate__ C from_bytes C fromkeys
    C __new__ C math:gcd C math:prod C sys:intern C gc:disable C gc:enable C gc:isenabled C builtins:abs
    C builtins:all C builtins:any C builtins:callable C builtins:chr C builtins:getattr
    C builtins:hasattr C builtins:hash C builtins:hex C builtins:id C builtins:isinstance
    C builtins:issubclass C builtins:iter C builtins:len C builtins:max C builtins:min C builtins:next
    C builtins:ord C builtins:pow C builtins:repr C builtins:setattr C builtins:sorted C builtins:sum
    C builtins:vars C _abc:* C _contextvars.ContextVar.* C _hashlib* C _sha512* C _sre:* C _thread*
    C re.Match.* C re.Pattern.* C decimal.Decimal.__sizeof__ C posix:fspath C super.Random.seed
    C super.Random.setstate
    C numpy._core._multiarray_umath:_make_extobj C numpy.dtype.newbyteorder C numpy.generic.view
    C numpy.ndarray.astype C numpy.ndarray.item C numpy.ndarray.ravel C numpy.ndarray.reshape
    C numpy.ndarray.view C numpy.nditer.* C numpy:array C numpy:asanyarray C numpy:asarray
    C numpy:datetime_data C numpy:empty C numpy:frombuffer C numpy:zeros
"""

_PATTERNS = OURS + KELLET + LIBRARY + NUMPY + TORCH + IN_C


def _compiled(patterns: str) -> re.Pattern[str]:
    joined = patterns.replace("C ", "C~").replace("<frozen ", "<frozen~")
    names = (name.replace("~", " ") for name in joined.split())
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names))


_ALONE = _compiled(_PATTERNS)
_HARNESS = re.compile(r"tests\.attacks\.grammar\.(?!world:_make|world:_sentinel|graphs).*")


def is_allowed(name: str) -> bool:
    """Say whether a function may run while data alone is built."""
    return _ALONE.fullmatch(name) is not None or _HARNESS.fullmatch(name) is not None


def is_allowed_beside_code(name: str) -> bool:
    """Say whether a function may run while an object of stored code is built: nothing of externs does.

    What an audit hook is told of is judged as well, as "event open"; stored functions are
    compiled and made.
    """
    if name.startswith("event "):
        return name in ("event compile", "event function.__new__")
    return "world:_sentinel" not in name and not name.startswith(("mailbox:", "subprocess:", "shelve:"))
