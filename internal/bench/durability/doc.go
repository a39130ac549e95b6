// Command durability writes the same changes with this module, and with what a program
// would otherwise use, and prints the rates beside each other: in one run, in turns, on
// one disk. Rates depend on the disk and on what else runs; read the ratios.
//
// As root on Linux with FUSE it also counts the flushes that reach a device: an ext4 of its
// own, on a loop device, whose file is kept by this program. Its tests cut the power of
// such a disk, which then holds what was flushed and a random part of the rest, and look at
// what the real file system makes of it.
package main
