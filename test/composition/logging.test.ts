// process: own - ends processes or changes its own
import { execFile } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import test from 'ava'
import fc from 'fast-check'
import { makeBatchedLines, makePlainLines, plainLine } from '../../adapters/logging/log-lines.ts'
import { errorFields, makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { secret } from '../../core/kernel/secret.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-lines-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const target = () => {
  const path = join(folder, `log-${(files += 1)}`)
  const fd = openSync(path, 'a')
  return { fd, text: () => readFileSync(path, 'utf8') }
}

const until = async (isSo: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 500 && !isSo(); turn += 1) await delay(10)
}

test('lines wait for their batch, in order, and are written when it is due', async (t) => {
  const { fd, text } = target()
  const lines = makeBatchedLines({ fd, batchAgeMs: 20 })
  const expected = Array.from({ length: 100 }, (_, index) => `line ${index}\n`)
  for (const line of expected) lines.add(line)
  t.is(text(), '')
  await until(() => text().length > 0)
  t.is(text(), expected.join(''))
  closeSync(fd)
})

test('a full batch does not wait for its age', async (t) => {
  const { fd, text } = target()
  const lines = makeBatchedLines({ fd, batchAgeMs: 3_600_000, batchLength: 100 })
  const line = `${'x'.repeat(59)}\n`
  lines.add(line)
  lines.add(line)
  await until(() => text().length > 0)
  t.is(text(), line + line)
  closeSync(fd)
})

test('flushNow writes waiting lines at once', (t) => {
  const { fd, text } = target()
  const lines = makeBatchedLines({ fd, batchAgeMs: 3_600_000 })
  lines.add('last words\n')
  lines.flushNow()
  t.is(text(), 'last words\n')
  closeSync(fd)
})

test('flush waits for the batch in progress, so that no line is lost', async (t) => {
  const { stderr } = await child(`
    import { makeBatchedLines } from './adapters/logging/log-lines.ts'
    // A pipe that the process uses does not block, like a terminal.
    process.stderr.write('')
    const lines = makeBatchedLines({ fd: 2, batchLength: 500000 })
    for (let number = 0; number < 20000; number += 1) lines.add('line ' + number + ' ' + 'x'.repeat(20) + '\\n')
    await lines.flush()
    process.exit(0)
  `)
  const numbers = stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(line.split(' ')[1]))
  t.is(numbers.length, 20_000)
  t.true(numbers.every((number, index) => number === index))
})

test('beyond the bound lines are dropped and counted', (t) => {
  const { fd, text } = target()
  const lines = makeBatchedLines({ fd, batchAgeMs: 3_600_000, maxWaitingLength: 10 })
  for (const line of ['12345\n', 'abc\n', 'too much\n', 'too much\n']) lines.add(line)
  lines.flushNow()
  t.regex(text(), /^12345\nabc\n\{.*2 log lines were dropped.*\}\n$/)
  closeSync(fd)
})

test('the log resumes after a full disk and reports the lost lines', async (t) => {
  const path = join(folder, 'after-enospc')
  const { stderr } = await child(`
    import { closeSync, openSync } from 'node:fs'
    import { setTimeout as delay } from 'node:timers/promises'
    import { makeBatchedLines } from './adapters/logging/log-lines.ts'
    const fd = openSync('/dev/full', 'w')
    const lines = makeBatchedLines({ fd, batchAgeMs: 1, maxWaitingLength: 20, retryMs: 400 })
    const seenState = () => ({ lost: lines.state().lost, trouble: lines.state().trouble })
    lines.add('first\\n')
    while (lines.state().trouble === undefined) await delay(2)
    const seen = [seenState()]
    for (const line of ['second\\n', 'third\\n', 'too much for the bound\\n', 'too much for the bound\\n']) lines.add(line)
    seen.push(seenState())
    // The same descriptor leads to a disk with room, before the next attempt.
    closeSync(fd)
    const opened = []
    while (!opened.includes(fd)) opened.push(openSync(${JSON.stringify(path)}, 'a'))
    while (lines.state().trouble !== undefined) await delay(5)
    lines.flushNow()
    seen.push(seenState())
    process.stderr.write(JSON.stringify(seen))
  `)
  t.deepEqual(JSON.parse(stderr), [{ lost: 0, trouble: 'ENOSPC' }, { lost: 2, trouble: 'ENOSPC' }, { lost: 2 }])
  t.regex(
    readFileSync(path, 'utf8'),
    /^first\nsecond\nthird\n\{"level":40,"msg":"2 log lines were dropped: the log could not be written \(ENOSPC\)"\}\n$/,
  )
})

test('a flush while nothing can be written does not end the log', async (t) => {
  const fd = openSync('/dev/full', 'w')
  const lines = makeBatchedLines({ fd, batchAgeMs: 3_600_000, retryMs: 5 })
  lines.add('waits\n')
  lines.flushNow()
  t.like(lines.state(), { lost: 0, trouble: 'ENOSPC', backlogLength: 6 })
  await delay(20)
  lines.add('waits too\n')
  t.is(lines.state().lost, 0)
  // The descriptor stays open: it is tried again, and another file would get its number.
})

test("a driver's error names table or state and quotes no value", (t) => {
  const told = (message: string, code: string) => errorFields(Object.assign(new Error(message), { code })).message
  for (const [message, code] of [
    ['no such table: users', 'SQLITE_ERROR'],
    ['table users has no column named nick', 'SQLITE_ERROR'],
    ['UNIQUE constraint failed: roles.org_id, roles.lower_name', 'SQLITE_CONSTRAINT_UNIQUE'],
    ['database or disk is full', 'SQLITE_FULL'],
    ["Table 'moorage.users' doesn't exist", 'ER_NO_SUCH_TABLE'],
    ["Unknown column 'u.nick' in 'field list'", 'ER_BAD_FIELD_ERROR'],
    [
      'The MariaDB server is running with the --read-only option so it cannot execute this statement',
      'ER_OPTION_PREVENTS_STATEMENT',
    ],
  ] as const)
    t.is(told(message, code), message)
  for (const [message, code] of [
    ["Duplicate entry 'ada@example.org' for key 'emails.lower_email'", 'ER_DUP_ENTRY'],
    ['near "hunter2": syntax error', 'SQLITE_ERROR'],
    ["no such table: users\nhunter2 'x'", 'SQLITE_ERROR'],
    ["Incorrect string value: 'hunter2' for column `a`.`b`", 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD'],
  ] as const)
    t.is(told(message, code), undefined, message)
})

test("a record of level info has bunyan's fields in bunyan's order", (t) => {
  const written: string[] = []
  const log = makeBunyanLog({ level: 'info', lines: { add: (line) => void written.push(line) } })
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(undefined),
    fc.constant(null),
  )
  const anyFields = fc.oneof(
    fc.dictionary(fc.string(), value),
    fc.dictionary(fc.constantFrom('name', 'level', 'msg', 'time', 'v', 'pid', 'status', 'error', '__proto__'), value),
    fc.dictionary(fc.string(), fc.anything({ withBigInt: true })),
  )
  fc.assert(
    fc.property(anyFields, fc.string(), (fields, message) => {
      written.length = 0
      log.info(fields, message)
      log.warn(fields, message)
      const [info, warn] = written.map((line) => {
        t.true(line.endsWith('}\n'))
        const { time, ...rest } = JSON.parse(line) as Record<string, unknown>
        return JSON.stringify({ ...rest, ...(Object.hasOwn(fields, 'level') ? {} : { level: 0 }), time: typeof time })
      })
      return info === warn
    }),
  )
  // Of the last generated fields none may be written: bunyan judges a record by its field `level`, if it has one.
  written.length = 0
  log.info({}, 'written')
  log.warn({}, 'written')
  log.debug({}, 'not written')
  t.is(written.length, 2)
})

test('a descriptor that is closed is no error', async (t) => {
  const { fd } = target()
  closeSync(fd)
  const lines = makeBatchedLines({ fd, batchAgeMs: 1 })
  lines.add('unread\n')
  await delay(30)
  t.notThrows(() => lines.add('nor this\n'))
  t.notThrows(() => lines.flushNow())
})

test('lines of a closed descriptor are counted as lost', async (t) => {
  const { stderr } = await child(`
    import { closeSync, openSync } from 'node:fs'
    import { makeBatchedLines } from './adapters/logging/log-lines.ts'
    const fd = openSync('/dev/null', 'w')
    closeSync(fd)
    const lines = makeBatchedLines({ fd })
    lines.add('first\\n')
    lines.add('second\\n')
    lines.flushNow()
    lines.add('third\\n')
    process.stderr.write(JSON.stringify(lines.state()))
  `)
  t.deepEqual(JSON.parse(stderr), { lost: 3, trouble: 'EBADF', backlogLength: 0, backlogAgeMs: 0 })
})

test('lines that arrive during a long write are written after it', async (t) => {
  const { stderr } = await child(`
    import { execFileSync } from 'node:child_process'
    import { closeSync, constants, openSync, readSync } from 'node:fs'
    import { setTimeout as delay } from 'node:timers/promises'
    import { makeBatchedLines } from './adapters/logging/log-lines.ts'
    const fifo = ${JSON.stringify(join(folder, 'long-write'))}
    execFileSync('mkfifo', [fifo])
    const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
    const lines = makeBatchedLines({ fd, batchAgeMs: 5 })
    lines.add('x'.repeat(100_000) + '\\n')
    await delay(20)
    lines.add('during\\n')
    // The batch of this line is due while the first one is being written.
    await delay(20)
    const buffer = Buffer.alloc(1 << 20)
    let text = ''
    for (let reads = 0; reads < 500 && !text.endsWith('during\\n'); reads += 1) {
      try { text += buffer.toString('utf8', 0, readSync(fd, buffer)) } catch {}
      await delay(5)
    }
    process.stderr.write(JSON.stringify([text.length, text.endsWith('during\\n')]))
    process.exit(0)
  `)
  t.deepEqual(JSON.parse(stderr), [100_001 + 'during\n'.length, true])
})

const child = (code: string): Promise<{ code: number; stderr: string }> =>
  new Promise((resolve) => {
    const process_ = execFile(
      process.execPath,
      ['--input-type=module-typescript', '-e', code],
      { cwd: process.cwd() },
      (_error, _stdout, stderr) => resolve({ code: process_.exitCode ?? -1, stderr }),
    )
  })

test('an uncaught error: the log is flushed, the error is reported once, exit 1', async (t) => {
  const prelude = `
    import { installCrashHandlers, beforeCrash } from './composition/runtime/cli/lifecycle.ts'
    import { makeBatchedLines } from './adapters/logging/log-lines.ts'
    const lines = makeBatchedLines({ fd: 2 })
    beforeCrash(lines.flushNow)
    beforeCrash(() => { throw new Error('a flush that fails') })
    installCrashHandlers()
    lines.add('logged before\\n')
    setInterval(() => undefined, 1000)
  `
  for (const [how, kind] of [
    ["setTimeout(() => { throw new Error('boom') }, 1)", 'uncaughtException'],
    ["void Promise.reject(new Error('boom'))", 'unhandledRejection'],
  ] as const) {
    const { code, stderr } = await child(prelude + how)
    t.is(code, 1)
    t.regex(stderr, new RegExp(`^logged before\\nmoorage: ${kind}: Error: boom\\n`))
    t.is(stderr.match(/boom/g)?.length, 1)
  }
})

test('an uncaught error of a driver shows its code and place, and no values', async (t) => {
  const { code, stderr } = await child(`
    import { installCrashHandlers } from './composition/runtime/cli/lifecycle.ts'
    installCrashHandlers()
    const cause = Object.assign(new Error("duplicate 'ada@example.org'"), { code: 'ER_DUP_ENTRY', sql: 'insert ...' })
    setTimeout(() => { throw new Error('the job failed', { cause }) }, 1)
  `)
  t.is(code, 1)
  t.regex(stderr, /uncaughtException: Error: the job failed\n +at .*\n/)
  t.regex(stderr, /caused by Error \(ER_DUP_ENTRY\)\n/)
  t.notRegex(stderr, /ada@|insert/)
})

test('an error with stderr closed ends the process all the same', async (t) => {
  const code = await new Promise((resolve) => {
    const program = `
      import { closeSync } from 'node:fs'
      import { installCrashHandlers } from './composition/runtime/cli/lifecycle.ts'
      installCrashHandlers()
      closeSync(2)
      setTimeout(() => { throw new Error('boom') }, 1)
      setInterval(() => undefined, 1000)
    `
    execFile(process.execPath, ['--input-type=module-typescript', '-e', program], { timeout: 20_000 }).once(
      'exit',
      (code, signal) => resolve(code ?? signal),
    )
  })
  t.is(code, 1)
})

test('nothing is lost when the process ends while a batch is being written', async (t) => {
  const { stderr } = await child(`
    import { makeBatchedLines } from './adapters/logging/log-lines.ts'
    const lines = makeBatchedLines({ fd: 2, batchLength: 1000 })
    for (let n = 0; n < 5000; n += 1) lines.add('line ' + n + '\\n')
    await lines.flush()
    process.exit(0)
  `)
  const numbers = stderr
    .trim()
    .split('\n')
    .map((line) => Number(line.slice('line '.length)))
  t.deepEqual(
    numbers.sort((a, b) => a - b),
    Array.from({ length: 5000 }, (_, n) => n),
  )
})

const capture = (level: 'info' | 'debug' = 'info') => {
  const lines: string[] = []
  const log = makeBunyanLog({ level, lines: { add: (line) => void lines.push(line) } })
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

test('errors keep name, code, message, place and cause without driver texts', (t) => {
  const { log, last, lines } = capture()
  const cause = Object.assign(new Error('upstream said no'), { code: 'ECONNREFUSED' })
  log.error({ error: new Error('outer', { cause }) }, 'failed')
  t.like(last()['error'] as object, {
    name: 'Error',
    message: 'outer',
    cause: { code: 'ECONNREFUSED', message: 'upstream said no' },
  })
  const driver = Object.assign(new Error("Duplicate entry 'canary@example.com' for key"), {
    code: 'ER_DUP_ENTRY',
    sqlState: '23000',
    sql: "insert 'canary'",
  })
  log.error({ error: new Error('store', { cause: driver }), other: driver }, 'failed')
  t.notRegex(lines.join(''), /canary/)
  t.like(last()['error'] as object, { cause: { code: 'ER_DUP_ENTRY' } })
})

test('a value that is not JSON does not break the log', (t) => {
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

test('progress lines give way at a terminal and are omitted elsewhere', (t) => {
  const written = (columns: number | undefined) => {
    const out: string[] = []
    const plain = makePlainLines(
      { add: (text) => void out.push(text) },
      columns === undefined ? undefined : () => columns,
    )
    const log = makeBunyanLog({ level: 'info', lines: plain })
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
