import { PlimsollError } from '../core/errors.ts'
import { packageRequire } from '../util/package-root.ts'

const notInstalled = (specifier: string, neededFor: string, cause: unknown): PlimsollError => {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  return new PlimsollError('unsupported', `${neededFor} needs the optional package ${name}, which is not installed.`, {
    advice: `Install it beside plimsoll with \`npm install ${name}\`; with npx: \`npx -p plimsoll -p ${name} plimsoll …\`.`,
    fields: { package: name },
    cause,
  })
}

/** The path of an optional package's file; `unsupported` and how to install it when the package is not there. */
export function optionalPackage(specifier: string, neededFor: string, resolve = packageRequire().resolve): string {
  try {
    return resolve(specifier)
  } catch (cause) {
    throw notInstalled(specifier, neededFor, cause)
  }
}

/** Whether an optional package is there; nothing of it is loaded. */
export function isInstalled(specifier: string, resolve = packageRequire().resolve): boolean {
  try {
    resolve(specifier)
    return true
  } catch {
    return false
  }
}

/** Loads an optional package when it is first needed. The comments keep bundlers from asking for it when an application is built. */
export async function importOptional<T>(specifier: string, neededFor: string): Promise<T> {
  try {
    return (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ specifier)) as T
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw notInstalled(specifier, neededFor, cause)
  }
}
