import type { FileHandle } from 'node:fs/promises'
import { nodeFileSystem, type FileSystem } from '../../src/drivers/artifacts/file-system.ts'

/** Called before every call to the disk with its name and first argument; what it throws is what the driver sees. */
export type Fault = (operation: string, path: string, count: number) => void

/** The real file system with a fault in front of each call. A write that fails has written its first half. */
export function failingFileSystem(fault: Fault): { fileSystem: FileSystem; calls: string[] } {
  const calls: string[] = []
  const check = (operation: string, path: string): void => {
    calls.push(`${operation} ${path}`)
    fault(operation, path, calls.length - 1)
  }

  function failingHandle(handle: FileHandle, path: string): FileHandle {
    return new Proxy(handle, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          // Closing is what the kernel does for a dead process, so it always works.
          if (key === 'close') return target.close()
          try {
            check(`file.${String(key)}`, path)
          } catch (error) {
            if (key === 'writeFile') {
              const bytes = args[0] as Uint8Array
              await target.writeFile(bytes.subarray(0, bytes.length >> 1))
            }
            throw error
          }
          return (value as (...args: unknown[]) => unknown).apply(target, args)
        }
      },
    })
  }

  const fileSystem = Object.fromEntries(
    Object.entries(nodeFileSystem).map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        check(name, String(args[0]))
        const result: unknown = await (call as (...args: unknown[]) => Promise<unknown>)(...args)
        return name === 'open' ? failingHandle(result as FileHandle, String(args[0])) : result
      },
    ]),
  )
  return { fileSystem: fileSystem as unknown as FileSystem, calls }
}

/** From call `at` on nothing works any more, clean-up included: the process is dead. */
export const crashAt =
  (at: number): Fault =>
  (operation, path, count) => {
    if (count >= at) throw Object.assign(new Error(`crashed at ${operation} ${path}`), { code: 'ECRASH' })
  }

/** `code` for every call that `matches`. */
export const failWith =
  (code: string, matches: (operation: string, path: string) => boolean): Fault =>
  (operation, path) => {
    if (matches(operation, path)) throw Object.assign(new Error(`${code}: ${operation}`), { code })
  }
