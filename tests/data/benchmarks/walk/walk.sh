# Stands for a program that measures; FAULTY is what a test breaks.
for size in "$@"; do
    [ "$size" = "$FAULTY" ] || echo "walk $size ${TIME:-0.250}"
done
