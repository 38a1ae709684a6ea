const MAX_TOOL_CHARACTERS = 40

/** `<tool>_<YYYYMMDD_HHMMSS>_<hex>.log`, in UTC. The tool's name comes from outside, so only plain characters of it pass. */
export function artifactName(tool: string | undefined, createdAt: number, hex: string): string {
  const plain = (tool ?? '').replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_TOOL_CHARACTERS)
  const digits = new Date(createdAt).toISOString().replace(/[-:]/g, '')
  return `${plain === '' ? 'tool' : plain}_${digits.slice(0, 8)}_${digits.slice(9, 15)}_${hex}.log`
}
