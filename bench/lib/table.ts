const NAME_WIDTH = 30
const CELL_WIDTH = 12

export function title(text: string): void {
  console.log(`\n${text}`)
}

export function row(name: string, cells: readonly string[]): void {
  console.log(`  ${name.padEnd(NAME_WIDTH)}${cells.map((cell) => cell.padStart(CELL_WIDTH)).join('')}`)
}

export const percent = (share: number): string => `${(share * 100).toFixed(2)} %`
