// process: own - breaks what a service needs
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { startMailServer } from '../mail/mail-server.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

const forgot = { body: { email: 'admin@example.com' } }

test('a process killed before sending sends the mail after its restart', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-mail-'))
  let hangs = true
  const server = await startMailServer({
    tls: 'none',
    answersData: () => (hangs ? new Promise(() => undefined) : Promise.resolve()),
  })
  const url = `sqlite:${join(folder, 'moorage.sqlite')}`
  const settings = {
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DATABASE_URL: url,
    MOORAGE_TLS: 'false',
    MOORAGE_MAIL: `smtp://127.0.0.1:${server.port}?tls=off`,
  }
  const start = () => startServiceProcess({ settings })
  let service = await start()
  t.teardown(async () => {
    await service.stop()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  t.is((await service.send('POST', '/api/v1/user/forgot-password', forgot)).status, 202)
  await until('the server has the mail and has not said so', () => server.received.length === 1 || undefined)
  service.signal('SIGKILL')
  t.is(await service.exited, 'SIGKILL')

  const database = await openPatiently(url)
  t.teardown(() => database.close())
  const rows = await database.query<{ attempts: number }>((k) => k('mail_outbox').select('attempts'))
  t.deepEqual(
    rows.map(({ attempts }) => Number(attempts)),
    [1],
    'it was begun and not finished',
  )
  // The attempt counts as dead after its lease, two minutes.
  await database.query((k) => k('mail_outbox').decrement('not_before', 121_000))
  hangs = false
  service = await start()
  await until('the mail came again', () => server.received.length === 2 || undefined)
  await until(
    'it is done with',
    async () => (await database.query((k) => k('mail_outbox').select('id'))).length === 0 || undefined,
  )
  const [first, second] = server.received
  t.is(second?.mail.messageId, first?.mail.messageId)
  t.is(second?.mail.text, first?.mail.text)
})

if (!isSwitchedOff('mariadb'))
  test('two instances over one database send each mail once', async (t) => {
    const server = await startMailServer({ tls: 'none' })
    const settings = {
      MOORAGE_DATABASE_URL: await migratedMysqlUrl(),
      MOORAGE_TLS: 'false',
      MOORAGE_MAIL: `smtp://127.0.0.1:${server.port}?tls=off`,
    }
    const folder = mkdtempSync(join(tmpdir(), 'moorage-two-'))
    const keyring = { MOORAGE_KEYRING: join(folder, 'keyring.json') }
    const first = await startServiceProcess({ settings: { ...settings, ...keyring } })
    const second = await startServiceProcess({ settings: { ...settings, ...keyring } })
    t.teardown(async () => {
      await Promise.all([first.stop(), second.stop()])
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    const admin = { basic: ['admin', 'harbour-lantern-tide-42'] as const }
    const made = await first.send('POST', '/api/v1/users/admin/tokens', {
      ...admin,
      body: { name: 'mail', scopes: ['all'] },
    })
    const token = made.json.sha1 as string
    const addresses = Array.from({ length: 8 }, (_, i) => `admin${i}@second.example`)
    // Both ring for every mail: each of them posts some, and each looks for what is due.
    await Promise.all(
      addresses.map((email, i) =>
        (i % 2 === 0 ? first : second).send('POST', '/api/v1/user/emails', { token, body: { emails: [email] } }),
      ),
    )
    await until('all mails have come', () => server.received.length >= addresses.length || undefined)
    const database = await openPatiently(settings.MOORAGE_DATABASE_URL)
    t.teardown(() => database.close())
    await until(
      'none is left',
      async () => (await database.query((k) => k('mail_outbox').select('id'))).length === 0 || undefined,
    )
    t.deepEqual(server.received.flatMap(({ envelopeTo }) => envelopeTo).sort(), addresses)
  })
