#!/bin/sh
# The C++ compiler for CaDiCaL. Nearly all of its 80 files begin with the same header, whose parsing takes four fifths of the
# time; here it is parsed once and kept beside the objects. Everything else goes to the compiler as it is.
compiler=${CXX:-c++}

source=
for word; do
  case $word in cadical/src/*.cpp) source=$word ;; esac
done
[ -n "$source" ] && [ -d "$OUT_DIR" ] || exec "$compiler" "$@"

# The same options, without the source and the object, since a precompiled header fits no others.
header=$OUT_DIR/precompiled/internal.hpp
if [ ! -e "$header.gch" ]; then
  mkdir -p "${header%/*}"
  printf '#include "%s/cadical/src/internal.hpp"\n' "$PWD" > "$header.$$"
  mv "$header.$$" "$header"
  (
    count=$#
    while [ "$count" -gt 0 ]; do
      word=$1
      shift
      count=$((count - 1))
      case $word in
        -c | "$source") ;;
        -o) shift && count=$((count - 1)) ;;
        *) set -- "$@" "$word" ;;
      esac
    done
    "$compiler" "$@" -x c++-header "$header" -o "$header.gch.$$" && mv "$header.gch.$$" "$header.gch"
  ) || exec "$compiler" "$@"
fi
exec "$compiler" -include "$header" "$@"
