import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

const APP = `import { createPlimsoll } from 'plimsoll'
async function main() {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
  const body = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello' }] }
  const prepared = await plimsoll.session({ id: 'a' }).prepare({ format: 'openai-chat', body })
  console.log(JSON.parse(prepared.text).messages[0].content)
  await plimsoll.close()
}
main()
`

/** The folder of an application with what an installation of the built package brings, and no optional peer. `app.js` in it prints `Hello`. */
export function applicationFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-app-'))
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const link = (from: string, to: string): void => {
    mkdirSync(dirname(join(folder, 'node_modules', to)), { recursive: true })
    symlinkSync(join(root, from), join(folder, 'node_modules', to))
  }
  for (const name of Object.keys(manifest.dependencies)) link(join('node_modules', name), name)
  link('dist', 'plimsoll/dist')
  link('package.json', 'plimsoll/package.json')
  writeFileSync(join(folder, 'app.js'), APP)
  return folder
}
