// process: own - starts a service as a process
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { CommandContext } from '../../composition/part/command-context.ts'
import { runCommandLine } from '../../composition/moorage.ts'
import { AuthenticatorPort, IdentityStoresPort } from '../../core/identity/ports.ts'
import type { Actor, Principal } from '../../core/kernel/principal.ts'
import { ActorCallsPort, actorOf } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { TaskStorePort } from '../../core/tasks/ports.ts'
import { isFinal } from '../../core/tasks/types.ts'
import { moorage } from '../bus/bus-fixture.ts'
import type { Person } from '../clusters/cluster-fixture.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { startNats } from '../support/components/nats-server.ts'
import { needing } from '../support/components/needing.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { unwrap } from '../support/outcome.ts'
import { cleanEnvironment, mainFile } from '../support/service-process.ts'
import type { TestService } from '../support/service.ts'
import { startService, testEnvironment } from '../support/service.ts'
import { until } from '../support/until.ts'
import { order, untilEnd, untilState } from './task-client.ts'
import { makeTinyPlugin, orderWork } from './tiny-plugin.ts'

let service: TestService
let ada: Person
let eve: Person
const folder = mkdtempSync(join(tmpdir(), 'moorage-tasks-cli-'))

test.before(async () => {
  service = await startService({ plugins: [makeTinyPlugin()] })
  ada = await makePeople(service).person('ada')
  eve = await makePeople(service).person('eve')
})
test.after.always(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

const run = async (
  words: readonly string[],
  more: Partial<CommandContext> & { readonly server?: string; readonly token?: string } = {},
) => {
  const { server = service.baseUrl, token = ada.token, ...context } = more
  const [out, err]: [string[], string[]] = [[], []]
  const code = await runCommandLine(words, {
    environment: { MOORAGE_SERVER: server, ...(token === '' ? {} : { MOORAGE_TOKEN: token }) },
    print: (text) => void out.push(text),
    say: (text) => void err.push(text),
    ...context,
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

for (const command of ['list', 'show', 'watch', 'cancel']) {
  test(`tasks ${command} --help teaches with examples`, async (t) => {
    const { code, out } = await run(['tasks', command, '--help'])
    t.is(code, 0)
    for (const part of ['--server', '--token-file', 'MOORAGE_TOKEN', 'Examples:', `moorage tasks ${command}`])
      t.true(out.includes(part), part)
  })
}

test('a task is listed, shown and watched, with its result as exit code', async (t) => {
  const good = await order(service, ada.token, { title: 'Good work', lines: 2 })
  const bad = await order(service, ada.token, { title: 'Bad work', fails: true })
  await untilEnd(service, ada.token, good.id)
  await untilEnd(service, ada.token, bad.id)
  const listed = await run(['tasks', 'list', '--state', 'failed'])
  t.is(listed.code, 0)
  t.regex(listed.out, new RegExp(`^${bad.id}  failed .*Bad work$`, 'm'))
  t.false(listed.out.includes(good.id))
  const shown = await run(['tasks', 'show', bad.id])
  t.regex(shown.out, /error {5}it does not count/)
  t.is((JSON.parse((await run(['tasks', 'show', good.id, '--json'])).out) as { state: string }).state, 'succeeded')
  const watched = await run(['tasks', 'watch', good.id])
  t.is(watched.code, 0)
  t.deepEqual(
    watched.out.split('\n').map((line) => line.slice(9)),
    [
      'Pending: Good work: waits for a worker',
      'Started: Good work started!',
      '[Counting] Started: Counting',
      '[Counting] line 1',
      '[Counting] line 2',
      '[Counting] Success: Counting',
      'Success: Good work completed successfully!',
    ],
  )
  const failed = await run(['tasks', 'watch', bad.id])
  t.is(failed.code, 1)
  t.regex(failed.out, /Failed: Bad work failed! \(it does not count\)$/)
})

test('invalid requests are explained', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Mine' })
  await untilEnd(service, ada.token, id)
  for (const command of ['show', 'watch', 'cancel']) {
    const foreign = await run(['tasks', command, id], { token: eve.token })
    t.is(foreign.code, 1)
    t.regex(foreign.err, /The task does not exist/)
  }
  t.regex((await run(['tasks', 'cancel', id])).err, /has ended already: it has succeeded/)
  const unknown = await run(['tasks', 'list', '--state', 'asleep'])
  t.is(unknown.code, 2)
  const nobody = await run(['tasks', 'list'], { token: '' })
  t.is(nobody.code, 2)
  t.regex(nobody.err, /MOORAGE_TOKEN/)
  t.is((await run(['tasks', 'list'], { server: 'moorage' })).code, 2)
  const away = await run(['tasks', 'list'], { server: 'http://127.0.0.1:9' })
  t.is(away.code, 1)
  t.regex(away.err, /does not answer \(ECONNREFUSED\)/)
  const wrong = await run(['tasks', 'list'], { token: 'x'.repeat(40) })
  t.is(wrong.code, 1)
  t.false(wrong.err.includes('xxxx'))
})

test('the token may be in a file', async (t) => {
  const file = join(folder, 'token')
  writeFileSync(file, `${ada.token}\n`)
  t.is((await run(['tasks', 'list', '--token-file', file], { token: '' })).code, 0)
})

test('a running task is cancelled and watched to its end', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Long', untilCancelled: true })
  await untilState(service, ada.token, id, 'running')
  const watching = run(['tasks', 'watch', id])
  const cancelled = await run(['tasks', 'cancel', id])
  t.is(cancelled.code, 0)
  t.regex(cancelled.out, /Cancellation requested/)
  const watched = await watching
  t.is(watched.code, 1)
  t.regex(watched.out, /Long was cancelled\./)
})

test('a watch resumes after its connection was cut', async (t) => {
  const proxy = await startFaultProxy({ port: Number(new URL(service.baseUrl).port) })
  try {
    const { id } = await order(service, ada.token, { title: 'Cut', untilCancelled: true })
    await untilState(service, ada.token, id, 'running')
    const lines: string[] = []
    const watching = run(['tasks', 'watch', id], {
      server: `http://127.0.0.1:${proxy.port}`,
      print: (text) => void lines.push(text),
    })
    await until('what there is', () => (lines.length >= 6 ? true : undefined))
    proxy.cut()
    await run(['tasks', 'cancel', id])
    const { code, err } = await watching
    t.is(code, 1)
    t.regex(err, /Trying again/)
    t.is(new Set(lines).size, lines.length, 'nothing twice')
    t.regex(lines.at(-1) ?? '', /Cut was cancelled\./)
  } finally {
    await proxy.close()
  }
})

test('in a terminal the steps are drawn in place, and the cursor comes back', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Drawn \u001b[31mred', fails: true })
  await untilEnd(service, ada.token, id)
  let screen = ''
  const { code, out } = await run(['tasks', 'watch', id], {
    terminal: { write: (text) => void (screen += text), columns: () => 60, rows: () => 20 },
  })
  t.is(code, 1)
  t.is(out, '')
  t.true(screen.startsWith('\u001b[?25l'))
  t.true(screen.includes('\u001b[?25h'))
  const last = screen.split('\u001b[J').at(-1) ?? ''
  t.regex(
    last,
    /^✗ Drawn +\[31mred +\d+:\d\d\n {4}it does not count\n {2}✗ Counting +\d+:\d\d\n {6}it does not count\n/,
  )
  t.false(last.includes('\u001b[31m'))
})

test('an interrupted watch ends with 130 and leaves the task alone', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Left alone', untilCancelled: true })
  const child = spawn(process.execPath, [mainFile, 'tasks', 'watch', id], {
    env: cleanEnvironment({ MOORAGE_SERVER: service.baseUrl, MOORAGE_TOKEN: ada.token }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  await until('its lines', () => (out.includes('line 3') ? true : undefined))
  child.kill('SIGINT')
  t.is(await exited, 130)
  t.regex(err, /the task continues/)
  await run(['tasks', 'cancel', id])
  await untilEnd(service, ada.token, id)
})

const withNats = needing('nats')

withNats('the doctor says whether the bus keeps the progress of tasks', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-tasks-doctor-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const port = await reservedPort()
  const settings = { ...(await testEnvironment(folder, 'sqlite')), MOORAGE_BUS_URL: `nats://127.0.0.1:${port}` }
  const { printed } = await moorage(
    settings,
    'bus',
    'init',
    '--listen',
    `127.0.0.1:${port}`,
    '--websocket',
    `127.0.0.1:${await reservedPort()}`,
    '--store',
    '/STORE',
  )
  const line = async (): Promise<string> =>
    (await moorage(settings, 'doctor')).printed.split('\n').find((each) => each.includes(`nats://127.0.0.1:${port}`)) ??
    ''
  const whole = await startNats(port, (store) => printed.replaceAll('/STORE', store))
  t.regex(await line(), /answers and knows the account/)
  await whole.stop()
  const poor = await startNats(port, (store) =>
    printed.replaceAll('/STORE', store).replace(/^jetstream: \{[^}]*\}$/m, ''),
  )
  t.teardown(() => poor.stop())
  t.regex(await line(), /keeps no streams/)
})

for (const database of ['sqlite', 'mysql'] as const)
  test(`${database}: a submitted task is done and reported`, async (t) => {
    const service = await startService({ database, plugins: [makeTinyPlugin()] })
    try {
      const reply = await service.client.call(orderWork, {
        body: { title: 'Count' },
        headers: { authorization: `Bearer ${service.adminToken}` },
      })
      if (!reply.ok) throw new Error(reply.text)
      const store = service.running.container.resolve(TaskStorePort)
      const task = await until('its end', async () => {
        const found = await store.find(reply.value.id)
        return found !== undefined && isFinal(found.task.state) ? found.task : undefined
      })
      t.is(task.state, 'succeeded')
      const events = await store.events(task.id, 0, 100)
      t.deepEqual(
        events.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`),
        [
          '1 Pending Count: waits for a worker',
          '2 Started Count started!',
          '3 Started Counting',
          '4 Running line 1',
          '5 Running line 2',
          '6 Running line 3',
          '7 Success Counting',
          '8 Success Count completed successfully!',
        ],
      )
    } finally {
      await service.stop()
    }
  })

const about = { operation: 'tiny.work', requestId: 'r-1', sourceIp: '10.0.0.1' }

const principalOf = async (service: TestService, token: string, sudo?: string): Promise<Principal> =>
  unwrap(
    await service.running.container
      .resolve(AuthenticatorPort)
      .authenticate({ kind: 'token', token: secret(token) }, sudo, '127.0.0.1', undefined),
  )

const onEach = (
  title: string,
  body: (
    t: ExecutionContext,
    service: TestService,
    callOf: (actor: Actor) => Promise<Principal | string>,
  ) => Promise<void>,
): void => {
  for (const database of ['sqlite', 'mysql'] as const)
    test(`${database}: ${title}`, async (t) => {
      const service = await startService({ database })
      const calls = service.running.container.resolve(ActorCallsPort)
      try {
        await body(t, service, async (actor) => {
          const call = await calls.callOf(actor, about, new AbortController().signal)
          return isLeft(call) ? call.left.tag : call.right.principal
        })
      } finally {
        await service.stop()
      }
    })
}

onEach(
  'a call is made with the rights of this moment and the limits of the token that asked',
  async (t, service, callOf) => {
    const ada = await makePeople(service).person('ada')
    const narrow = await service.tokenFor(ada.login, ['read:cluster'])
    const actor = actorOf(await principalOf(service, narrow))
    const before = (await callOf(actor)) as Principal
    t.like(before, { login: ada.login, isSiteAdmin: false, method: 'token', tokenId: actor.tokenId })
    t.deepEqual(before.scopes, actor.scopes)
    t.truthy(before.tokenCreatedAt)
    const promoted = await service.send('PATCH', `/api/v1/admin/users/${ada.login}`, {
      token: service.adminToken,
      body: { login_name: ada.login, source_id: 0, admin: true },
    })
    t.is(promoted.status, 200, promoted.text)
    t.true(((await callOf(actor)) as Principal).isSiteAdmin)
  },
)

onEach(
  'once the token that asked is gone or has run out, so is the actor; another token of theirs is none of it',
  async (t, service, callOf) => {
    const ada = await makePeople(service).person('ada')
    const actor = actorOf(await principalOf(service, await service.tokenFor(ada.login)))
    const other = actorOf(await principalOf(service, ada.token))
    t.is(typeof actor.tokenId, 'number')
    await service.running.container.resolve(IdentityStoresPort).tokens.remove(actor.userId, actor.tokenId!)
    t.is(await callOf(actor), 'ActorGone')
    t.not(await callOf(other), 'ActorGone')
    t.is(await callOf({ ...other, userId: 99_999_999 as never }), 'ActorGone')
    const { tokenId: _none, ...withoutToken } = actor
    t.not(await callOf({ ...withoutToken, method: 'session' }), 'ActorGone', 'a session proves a moment')
  },
)

onEach('a disabled account is gone, and an impersonator who is no site admin any more', async (t, service, callOf) => {
  const people = makePeople(service)
  const [ada, boss] = [await people.person('ada'), await people.person('boss')]
  const edit = async (login: string, body: object) => {
    const answer = await service.send('PATCH', `/api/v1/admin/users/${login}`, {
      token: service.adminToken,
      body: { login_name: login, source_id: 0, ...body },
    })
    t.is(answer.status, 200, answer.text)
  }
  await edit(boss.login, { admin: true })
  const acting = actorOf(await principalOf(service, boss.token, ada.login))
  t.like(await callOf(acting), { login: ada.login, impersonator: { login: boss.login }, isSiteAdmin: false })
  await edit(boss.login, { admin: false })
  t.is(await callOf(acting), 'ActorGone')
  await edit(boss.login, { admin: true })
  t.not(await callOf(acting), 'ActorGone')
  const own = actorOf(await principalOf(service, ada.token))
  await edit(ada.login, { prohibit_login: true })
  t.is(await callOf(own), 'ActorGone')
  t.is(await callOf(acting), 'ActorGone')
})
