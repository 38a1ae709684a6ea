/**
 * Writes the pages of docs/reference from the code.
 *
 *   npm run docs:generate
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { apiPage } from './docs/api.ts'
import { cliPage } from './docs/cli.ts'
import { configurationPage, environmentPage } from './docs/configuration.ts'
import { errorsPage, eventsPage } from './docs/events.ts'

const root = resolve(import.meta.dirname, '..')

/** The pages by their names. */
export const referencePages = async (): Promise<Readonly<Record<string, string>>> => ({
  'api.md': apiPage(root),
  'cli.md': await cliPage(),
  'configuration.md': configurationPage(),
  'environment.md': environmentPage(),
  'errors.md': errorsPage(),
  'events.md': eventsPage(root),
})

if (process.argv[1] === import.meta.filename) {
  const folder = join(root, 'docs/reference')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(await referencePages())) writeFileSync(join(folder, name), text)
}
