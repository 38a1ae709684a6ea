import { checkArguments, type Argument } from '../../core/given.ts'

type Face = Readonly<Record<string, unknown>>

/** The same object, whose functions check their arguments first. They give promises and refuse in them, but for those that are `atOnce`. */
export function checkedFace<T extends object>(
  face: T,
  wanted: { readonly [name in keyof T]?: readonly Argument[] },
  atOnce: readonly (keyof T)[] = [],
): T {
  const guarded = Object.entries(wanted).map(([name, args]): [string, unknown] => {
    const run = (face as Face)[name] as (...given: unknown[]) => unknown
    return [
      name,
      (...given: unknown[]) => {
        try {
          checkArguments(given, args as readonly Argument[], `${name}()`)
        } catch (error) {
          if ((atOnce as readonly string[]).includes(name)) throw error
          return Promise.reject(error as Error)
        }
        return run(...given)
      },
    ]
  })
  return { ...face, ...Object.fromEntries(guarded) }
}
