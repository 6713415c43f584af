"""Which file of this room has which codecs, by their names and by the types that they are for.

By either a codec is found without the other files: a model asks for three or four of them. What is here is
what the files say; a test compares the two.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final

FAMILIES: Final = {
    "plain": "complex,bytearray,singleton,slice,enum,fraction,array.array,logging.logger,namedtuple,"
    "scalar subclass,functools.partial,method,getter,functools.cache,collections.mapping,"
    "collections.deque,collections.chainmap",
    "typing_forms": "typing.form,inspect.signature",
    "standard_values": "re.pattern,regex.pattern,io.buffer,zoneinfo,itertools,exception,"
    "weakref.collection,decimal.context,"
    "types.mappingproxy,struct.struct,stateless",
    "arrays": "numpy.dtype,numpy.scalar,numpy.bit_generator,numpy.generator,numpy.seed_sequence,"
    "numpy.random_state,numpy.subclass,numpy.ndarray,numpy.masked",
    "kellet_codec": "kellet.subclass,kellet.tensor,kellet.module,kellet.hooks,kellet.handle,kellet.hook,"
    "kellet.gate,kellet.device",
    "torch_codec": "torch.value,torch.subclass,torch.tensor,torch.sparse,torch.quantized,torch.generator,"
    "torch.module,torch.handle",
    "optimizers": "kellet.optimizer,torch.optimizer",
}
"""The files of codecs that are always there, with the names of these, in the order in which they come."""

_TYPES: Final = {
    "plain": "array:array builtins:NotImplementedType builtins:bytearray builtins:bytes builtins:complex "
    "builtins:ellipsis builtins:float builtins:int builtins:method builtins:range builtins:slice "
    "builtins:str builtins:tuple enum:Enum fractions:Fraction functools:_lru_cache_wrapper functools:partial "
    "logging:Logger operator:attrgetter operator:itemgetter collections:ChainMap collections:Counter "
    "collections:OrderedDict collections:defaultdict collections:deque",
    "typing_forms": "collections.abc:_CallableGenericAlias inspect:Parameter inspect:Signature "
    "types:UnionType typing:ForwardRef typing:Union typing:_AnnotatedAlias "
    "typing:_CallableGenericAlias typing:_CallableType typing:_GenericAlias typing:_LiteralGenericAlias "
    "typing:_SpecialForm typing:_SpecialGenericAlias typing:_TupleType typing:_UnionGenericAlias",
    "standard_values": "re:Pattern _regex:Pattern _io:BytesIO _io:StringIO _struct:Struct "
    "_weakrefset:WeakSet builtins:BaseException "
    "builtins:mappingproxy dataclasses:_KW_ONLY_TYPE dataclasses:_MISSING_TYPE decimal:Context "
    "itertools:count itertools:repeat random:SystemRandom weakref:WeakKeyDictionary "
    "weakref:WeakValueDictionary zoneinfo:ZoneInfo",
    "arrays": "numpy.ma.core:MaskedArray numpy.ma.core:MaskedConstant numpy.ma:MaskedArray "
    "numpy.random._bit_generator:BitGenerator numpy.random._bit_generator:SeedSequence "
    "numpy.random._generator:Generator numpy.random.bit_generator:BitGenerator "
    "numpy.random.bit_generator:SeedSequence numpy.random.mtrand:RandomState numpy:dtype numpy:generic "
    "numpy:ndarray",
    "kellet_codec": "kellet.core.device:Device kellet.core.tensor:Tensor "
    "kellet.hooks:HookRegistry kellet.hooks:RemovableHandle kellet.nn.hook:Hook "
    "kellet.nn.hook:HookGate kellet.nn.module:Module",
    "torch_codec": "torch._C:Generator torch.nn.modules.module:Module torch.utils.hooks:RemovableHandle "
    "torch:Size torch:Tensor torch:device torch:dtype torch:layout torch:memory_format",
    "optimizers": "kellet.optim.optimizer:Optimizer torch.optim.optimizer:Optimizer",
}
"""The types of each file's codecs; no type is in two files."""

FILE_OF: Final = {name: file for file, names in FAMILIES.items() for name in names.split(",")}
FILE_OF_TYPE: Final = {name: file for file, names in _TYPES.items() for name in names.split()}
