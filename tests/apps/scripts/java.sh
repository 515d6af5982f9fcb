# SPDX-License-Identifier: MIT
# The program at $1 under each collector of HotSpot, and without its compilers.
javac -d . "$1"
for options in -XX:+UseSerialGC -XX:+UseParallelGC -XX:+UseG1GC '-XX:+UseShenandoahGC -XX:+UnlockExperimentalVMOptions' -XX:+UseZGC \
    '-Xint -XX:+UseSerialGC' '-Xcomp -XX:TieredStopAtLevel=1'; do
    echo "$options"
    java -Xmx64m $options Threads 2>&1
done
jar cf t.jar Threads.class && jar tf t.jar
rm ./*.class t.jar
