/**
 * Writes a software bill of materials (CycloneDX 1.5, JSON) from the lockfile: what is installed, in which version, with which hash and
 * licence. Run: `npm run sbom [-- file]`; `--all` takes development dependencies along. Reads nothing but the lockfile, so it gives
 * the same bytes on every machine.
 */
import { readFileSync, writeFileSync } from 'node:fs'

interface Locked {
  readonly name?: string
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly link?: boolean
}

interface Lockfile {
  readonly name: string
  readonly version: string
  readonly packages: Readonly<Record<string, Locked>>
}

const args = process.argv.slice(2)
const all = args.includes('--all')
const file = args.find((arg) => !arg.startsWith('--'))
const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as Lockfile

/** `sha512-<base64>` as CycloneDX writes it. */
function hashesOf(integrity: string | undefined): object {
  const [, bits = '', base64 = ''] = /^sha(\d+)-(.+)$/.exec(integrity ?? '') ?? []
  if (bits === '') return {}
  return { hashes: [{ alg: `SHA-${bits}`, content: Buffer.from(base64, 'base64').toString('hex') }] }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.startsWith('@') ? `%40${name.slice(1)}` : name}@${version}`

const components = Object.entries(lock.packages)
  .filter(([path, { link, dev }]) => path !== '' && link !== true && (all || dev !== true))
  .map(([path, { name = nameOf(path), version = '', integrity, license, optional }]) => ({
    type: 'library',
    'bom-ref': `${purlOf(name, version)}#${path}`,
    name,
    version,
    scope: optional === true ? 'optional' : 'required',
    purl: purlOf(name, version),
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    ...hashesOf(integrity),
  }))
  .sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1))

const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: {
      type: 'library',
      'bom-ref': purlOf(lock.name, lock.version),
      name: lock.name,
      version: lock.version,
      purl: purlOf(lock.name, lock.version),
    },
  },
  components,
}

const text = `${JSON.stringify(bom, null, 2)}\n`
if (file === undefined) process.stdout.write(text)
else writeFileSync(file, text)
