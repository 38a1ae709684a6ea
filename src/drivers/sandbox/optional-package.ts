import { createRequire } from 'node:module'
import { PlimsollError } from '../../core/errors.ts'

/** The path of an optional package's file; `unsupported` and how to install it when the package is not there. */
export function optionalPackage(
  specifier: string,
  neededFor: string,
  resolve = createRequire(import.meta.url).resolve,
): string {
  const name = specifier.split('/')[0] ?? specifier
  try {
    return resolve(specifier)
  } catch (error) {
    throw new PlimsollError('unsupported', `${neededFor} needs the optional package ${name}, which is not installed.`, {
      advice: `Install it with: npm install ${name}`,
      fields: { package: name },
      cause: error,
    })
  }
}

/** Whether an optional package is there; nothing of it is loaded. */
export function isInstalled(specifier: string, resolve = createRequire(import.meta.url).resolve): boolean {
  try {
    resolve(specifier)
    return true
  } catch {
    return false
  }
}
