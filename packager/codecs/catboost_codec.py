CODECS = ()
