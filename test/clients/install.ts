/**
 * Installs the coding agents into a folder of their own: they are large, and none of them is needed to build or test the
 * package itself. A folder that has the wanted versions is left alone.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const AGENTS = {
  '@openai/codex': '0.166.0',
  '@mariozechner/pi-coding-agent': '0.73.1',
  'opencode-ai': '1.18.33',
  '@google/gemini-cli': '0.61.0',
  '@anthropic-ai/claude-code': '2.1.328',
} as const

export const agentsFolder = join(import.meta.dirname, '.agents')

export function installAgents(): void {
  mkdirSync(agentsFolder, { recursive: true })
  for (const [name, version] of Object.entries(AGENTS)) {
    if (installed(name) === version) continue
    const manifest = join(agentsFolder, 'package.json')
    if (!existsSync(manifest)) writeFileSync(manifest, '{"private":true}\n')
    console.log(`installing ${name} ${version}`)
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`], {
      cwd: agentsFolder,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    // These link the binary of this platform in a script; npm 12 would not run it.
    for (const file of ['postinstall.mjs', 'install.cjs']) {
      const script = join(agentsFolder, 'node_modules', name, file)
      if (existsSync(script)) execFileSync(process.execPath, [script], { cwd: join(script, '..'), stdio: 'ignore' })
    }
  }
}

function installed(name: string): string | undefined {
  const manifest = join(agentsFolder, 'node_modules', name, 'package.json')
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version : undefined
}
