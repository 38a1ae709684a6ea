/** Writes down what leaves for a provider now, as what has to leave from now on: `npm run goldens:write [wire …]`. */
import { WIRES } from '../test/support/generators/index.ts'
import { readGoldens, writeGoldens } from '../test/goldens/golden.ts'
import { play, PRESETS, type Play } from '../test/goldens/play.ts'

const wanted = process.argv.slice(2)
for (const wire of WIRES.filter((one) => wanted.length === 0 || wanted.includes(one))) {
  const before = readGoldens(wire)
  const plays = new Map<string, Play>()
  for (const preset of PRESETS)
    for (const session of ['agent', 'forms'] as const)
      plays.set(`${preset} ${session}`, await play(session, wire, preset, 'memory'))
  writeGoldens(wire, plays)
  const changed = [...plays].filter(([name, { lines }]) => lines.join('\n') !== before[name]?.join('\n'))
  console.log(`${wire}: ${changed.length} of ${plays.size} changed`)
}
