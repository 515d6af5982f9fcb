# SPDX-License-Identifier: MIT
# ImageMagick: vector code, threads and several formats; the pixels must be the same.
convert -seed 7 -size 300x200 gradient:red-blue -swirl 90 -blur 0x3 -rotate 30 -resize 50% b.ppm && sha256sum b.ppm
for f in png jpg gif bmp tiff; do convert b.ppm "c.$f" 2>&1 && convert "c.$f" ppm:- 2>&1 | sha256sum; done
identify -format '%w %h %k\n' b.ppm
compare -metric AE b.ppm c.bmp null: 2>&1; echo
rm -f b.* c.*
