/** A plot as SVG, with its text as text. */
export interface Dot {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly isOurs: boolean
  readonly isHollow: boolean
}

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [760, 420, 60, 40, 370]

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

export function scatter(dots: readonly Dot[], words: { title: string; x: string; y: string }): string {
  const right = WIDTH - 150
  const most = Math.max(...dots.map(({ x }) => x)) * 1.05
  const least = Math.floor(Math.min(...dots.map(({ y }) => y)) * 10) / 10
  const px = (x: number): number => LEFT + ((right - LEFT) * x) / most
  const py = (y: number): number => BOTTOM - ((BOTTOM - TOP) * (y - least)) / (1 - least)
  const lines = [0, 1, 2, 3, 4].map((step) => {
    const y = least + ((1 - least) * step) / 4
    return `<line x1="${LEFT}" x2="${right}" y1="${py(y).toFixed(1)}" y2="${py(y).toFixed(1)}" stroke="#d0d7de"/><text x="${LEFT - 8}" y="${(py(y) + 4).toFixed(1)}" text-anchor="end" fill="#57606a">${Math.round(100 * y)} %</text>`
  })
  const ticks = [0, 1, 2, 3, 4].map((step) => {
    const x = (most * step) / 4
    return `<text x="${px(x).toFixed(1)}" y="${BOTTOM + 18}" text-anchor="middle" fill="#57606a">$${x.toFixed(1)}</text>`
  })
  // Names stand beside their dots; where two would meet, the lower one moves down.
  const placed: { x: number; y: number; width: number }[] = []
  const freeBelow = (x: number, y: number, width: number): number => {
    const meets = placed.find((one) => Math.abs(one.y - y) < 13 && x < one.x + one.width && one.x < x + width)
    return meets === undefined ? y : freeBelow(x, meets.y + 13, width)
  }
  const marks = dots
    .toSorted((a, b) => py(a.y) - py(b.y))
    .map(({ name, x, y, isOurs, isHollow }) => {
      const width = name.length * 6.2
      const at = freeBelow(px(x) + 14, py(y) + 4, width)
      placed.push({ x: px(x) + 14, y: at, width })
      const colour = isOurs ? '#1f6feb' : '#57606a'
      const fill = isHollow ? '#ffffff' : colour
      return `<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="${isOurs ? 6 : 4}" fill="${fill}" stroke="${colour}"/><line x1="${(px(x) + 6).toFixed(1)}" y1="${py(y).toFixed(1)}" x2="${(px(x) + 12).toFixed(1)}" y2="${(at - 4).toFixed(1)}" stroke="#d0d7de"/><text x="${(px(x) + 14).toFixed(1)}" y="${at.toFixed(1)}" fill="${isOurs ? colour : '#24292f'}"${isOurs ? ' font-weight="bold"' : ''}>${escape(name)}</text>`
    })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(words.title)}" font-family="system-ui, sans-serif" font-size="11">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>
<text x="${LEFT}" y="22" font-size="14" fill="#24292f">${escape(words.title)}</text>
${lines.join('\n')}
${ticks.join('\n')}
<text x="${right}" y="${BOTTOM + 38}" text-anchor="end" fill="#57606a">${escape(words.x)}</text>
<text x="${LEFT}" y="${TOP - 6}" fill="#57606a">${escape(words.y)}</text>
${marks.join('\n')}
</svg>
`
}
