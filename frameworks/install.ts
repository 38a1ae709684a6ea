/**
 * Installs the frameworks that adapters are tested with into this folder: they are large, and none of them is needed to build or test the
 * package itself. A folder that has the wanted versions is left alone.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const { dependencies } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}

function installed(name: string): string | undefined {
  const manifest = join(import.meta.dirname, 'node_modules', name, 'package.json')
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version : undefined
}

const missing = Object.entries(dependencies).filter(([name, version]) => installed(name) !== version.split('@').at(-1))
if (missing.length > 0) {
  console.log(`installing ${missing.map(([name, version]) => `${name} ${version}`).join(', ')}`)
  // Some declare a newer Node than they need; what is tried here runs on Node 20.
  execFileSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock', '--loglevel=error'],
    {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
}
