import test from 'ava'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { makePlainLines, plainLine } from '../../adapters/logging/plain-line.ts'
import { secret } from '../../core/kernel/secret.ts'

const capture = (level: 'info' | 'debug' = 'info') => {
  const lines: string[] = []
  const { log } = makeBunyanLog({ level, lines: { add: (line) => void lines.push(line) } })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') as Record<string, unknown> }
}

test('a record is one line of JSON with level, time and message', (t) => {
  const { log, lines, last } = capture()
  log.info({ route: '/user', status: 200 }, 'request')
  t.regex(lines[0] ?? '', /^\{.*\}\n$/)
  t.like(last(), { name: 'moorage', level: 30, msg: 'request', route: '/user', status: 200 })
  t.regex(String(last()['time']), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
})

test('records below the level are not made', (t) => {
  const { log, lines } = capture()
  log.debug({}, 'detail')
  t.deepEqual(lines, [])
  const verbose = capture('debug')
  verbose.log.debug({}, 'detail')
  t.is(verbose.lines.length, 1)
})

test('a secret prints as [secret], at any depth', (t) => {
  const { log, lines, last } = capture()
  log.warn({ token: secret('canary'), deep: { list: [secret('canary')] } }, 'x')
  t.notRegex(lines.join(''), /canary/)
  t.is(last()['token'], '[secret]')
})

test('a line break in a value cannot forge a line', (t) => {
  const { log, lines } = capture()
  log.info({ path: 'a\n{"level":60,"msg":"forged"}' }, 'two\nlines')
  t.is(lines.join('').split('\n').length, 2)
})

test("of an error are kept: name, code, message, place, cause; of a driver's error no text, since it quotes values", (t) => {
  const { log, last, lines } = capture()
  const cause = Object.assign(new Error('upstream said no'), { code: 'ECONNREFUSED' })
  log.error({ error: new Error('outer', { cause }) }, 'failed')
  t.like(last()['error'] as object, { name: 'Error', message: 'outer', cause: { code: 'ECONNREFUSED', message: 'upstream said no' } })
  const driver = Object.assign(new Error("Duplicate entry 'canary@example.com' for key"), { code: 'ER_DUP_ENTRY', sqlState: '23000', sql: "insert 'canary'" })
  log.error({ error: new Error('store', { cause: driver }), other: driver }, 'failed')
  t.notRegex(lines.join(''), /canary/)
  t.like(last()['error'] as object, { cause: { code: 'ER_DUP_ENTRY' } })
})

test('what is no JSON does not break the log', (t) => {
  const { log, last } = capture()
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  log.info({ circle }, 'round')
  t.is(last()['msg'], 'round')
  log.info({ big: 12345678901234567890n, error: 'a text' }, 'odd')
  t.like(last(), { big: '12345678901234567890' })
})

test('at a terminal a line is plain text, and no value can steer the terminal', (t) => {
  const { log, lines } = capture()
  log.warn({ route: '/user', status: 503, ip: '\u001b[2Jcleared' }, 'request\nforged')
  t.regex(plainLine(lines[0] ?? ''), /^\d\d:\d\d:\d\d warn  request forged route=\/user status=503 ip= \[2Jcleared\n$/)
})

test('for people a step of longer work gives way to the next record, at a terminal; elsewhere it is left out', (t) => {
  const written = (columns: number | undefined) => {
    const out: string[] = []
    const plain = makePlainLines({ add: (text) => void out.push(text) }, columns === undefined ? undefined : () => columns)
    const { log } = makeBunyanLog({ level: 'info', lines: plain })
    log.info({ isStep: true }, 'step one of many')
    log.info({ isStep: true }, 'step\u001b[2J')
    log.info({}, 'done')
    plain.clear()
    log.info({ isStep: true }, 'after')
    plain.clear()
    plain.clear()
    log.warn({ isStep: true }, 'trouble')
    return out.map((text) => text.replace(/^\d\d:\d\d:\d\d/, ''))
  }
  const clear = '\r\u001b[2K'
  t.deepEqual(written(9), ['step one', clear, 'step [2J', clear, ' info  done\n', 'after', clear, ' warn  trouble\n'])
  t.deepEqual(written(undefined), [' info  done\n', ' warn  trouble\n'])
})
