/**
 * Builds `src/drivers/catalogue/catalogue-data.json` from public price data. Run: `npx tsx scripts/build-catalogue.ts [file.json[.gz]]`;
 * without a file it takes the one in the shared data.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readText, sharedData } from '../bench/lib/shared.ts'
import { compactEntries, type LiteLlmData, readLiteLlm } from '../src/drivers/catalogue/update.ts'
import { writeEntry } from '../src/drivers/catalogue/entry.ts'
import { SUPPLEMENT } from '../src/drivers/catalogue/bundled.ts'

const file = process.argv[2] ?? newestShared()
const entries = [...readLiteLlm(JSON.parse(readText(file)) as LiteLlmData), ...SUPPLEMENT]
const lines = compactEntries(entries).map(writeEntry)
const date = /\d{4}-\d{2}-\d{2}/.exec(basename(file))?.[0] ?? 'undated'
const target = fileURLToPath(new URL('../src/drivers/catalogue/catalogue-data.json', import.meta.url))
const source = `Public list prices: BerriAI/litellm, model_prices_and_context_window.json (MIT), ${date}. Written by scripts/build-catalogue.ts.`
const form =
  'id|window|input limit|max output|in,out,cache read,cache write,cache write 1h|tiers|cache minimum|flags (see entry.ts)'
writeFileSync(target, JSON.stringify({ source, date, form, models: lines }, undefined, 2))
console.log(`${entries.length} offers -> ${lines.length} lines, ${lines.join('\n').length} bytes`)

function newestShared(): string {
  const data = sharedData()
  if (data === undefined) throw new Error('No price data: name a file or set PLIMSOLL_SHARED.')
  const folder = join(data, 'catalogue')
  const found = readdirSync(folder)
    .filter((name) => name.startsWith('model-prices'))
    .sort()
  return join(folder, found.at(-1)!)
}
