/**
 * What a package on npm needs that a clone does not: where the project lives, and links that lead there.
 * `npm run release:check` packs the package, applies this to it, checks it and writes the tarball that is published.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** The address of the repository, such as `https://github.com/owner/plimsoll`. This line sets everything; while it is empty, nothing is published. */
export const ADDRESS = ''

/** Changes an unpacked package in place: its metadata, images that npm's page can show, and links to files that are not in it. */
export function readyForNpm(folder: string, address: string): void {
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  const where = {
    author: { name: 'The authors of Plimsoll', url: address },
    homepage: `${address}#readme`,
    repository: { type: 'git', url: `git+${address}.git` },
    bugs: { url: `${address}/issues` },
  }
  writeFileSync(file, `${JSON.stringify({ ...manifest, ...where }, null, 2)}\n`)
  const { version } = manifest
  for (const page of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isOwnPage)) {
    const text = readFileSync(join(folder, page), 'utf8')
    const absolute = text.replace(/\]\(([^)\s#]+)((?:#[^)\s]*)?)\)/g, (whole, link: string, anchor: string) => {
      if (/^[a-z]+:/.test(link)) return whole
      const target = relative(folder, join(folder, dirname(page), link)).replaceAll('\\', '/')
      if (existsSync(join(folder, target))) return whole
      return `](${address}/blob/v${version}/${target}${anchor})`
    })
    // The page of the package shows the README without the files beside it.
    const shown =
      page === 'README.md'
        ? absolute.replace(/([("])(docs\/images\/)/g, `$1https://cdn.jsdelivr.net/npm/plimsoll@${version}/$2`)
        : absolute
    if (shown !== text) writeFileSync(join(folder, page), shown)
  }
}

const isOwnPage = (file: string): boolean => file.endsWith('.md') && !/(?:^|[\\/])node_modules[\\/]/.test(file)
