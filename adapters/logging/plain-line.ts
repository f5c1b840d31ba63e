const levelNames: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' }
const shownElsewhere: ReadonlySet<string> = new Set(['name', 'hostname', 'pid', 'level', 'time', 'msg', 'v'])

/** A log line of JSON as a person at a terminal reads it: time, level, message, then the fields. */
export const plainLine = (json: string): string => {
  const record = JSON.parse(json) as Readonly<Record<string, unknown>>
  const fields = Object.entries(record)
    .filter(([name]) => !shownElsewhere.has(name))
    .map(([name, value]) => `${name}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`)
  const time = String(record['time'] ?? '').slice(11, 19)
  const level = levelNames[Number(record['level'])] ?? ''
  return `${[time, level.padEnd(5), printable(String(record['msg'] ?? '')), ...fields].join(' ')}\n`
}

/** A terminal obeys control characters, and a value may come from outside. */
const printable = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
