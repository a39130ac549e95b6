//go:build !linux

package main

const nonblock = 0
