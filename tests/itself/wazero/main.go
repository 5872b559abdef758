// main MODULE FOLDER [ARGS]: runs a command of WASI under wazero. FOLDER is its folder.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

func main() {
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	wasm, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	args := append([]string{os.Args[1]}, os.Args[3:]...)
	config := wazero.NewModuleConfig().WithArgs(args...).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithSysNanotime().WithSysWalltime().WithFSConfig(wazero.NewFSConfig().WithDirMount(os.Args[2], "/"))
	if _, err := runtime.InstantiateWithConfig(ctx, wasm, config); err != nil {
		var exit *sys.ExitError
		if errors.As(err, &exit) {
			os.Exit(int(exit.ExitCode()))
		}
		panic(err)
	}
}
