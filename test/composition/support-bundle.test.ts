// process: own - starts a service with objects of every part
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import { extract } from 'tar-stream'
import { shownLine, withoutNames, withoutSecrets } from '../../composition/runtime/cli/support-bundle/redaction.ts'
import { settingsOf } from '../../composition/runtime/config/settings.ts'
import { loadParts } from '../../composition/parts.ts'
import { leaks, makeCanaries } from '../canary/canaries.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { readSqliteFile, writeSqliteFile } from '../support/sqlite-file.ts'
import { run } from './command-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-bundle-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

/** The files of a bundle by their names. */
const filesOf = async (path: string): Promise<Readonly<Record<string, string>>> => {
  const files: Record<string, string> = {}
  const archive = extract()
  archive.end(gunzipSync(readFileSync(path)))
  for await (const entry of archive) {
    const chunks: Buffer[] = []
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk)
    files[entry.header.name.replace('moorage-support/', '')] = Buffer.concat(chunks).toString('utf8')
  }
  return files
}

const expected = [
  'README.txt',
  'deployment.json',
  'doctor.json',
  'log.txt',
  'metrics.txt',
  'migrations.json',
  'settings.json',
  'versions.json',
]

/** Writes a secret into each text of each table. What a constraint refuses stays as it is. */
const plantInTables = async (path: string, fresh: (what: string) => string): Promise<number> => {
  const columns = readSqliteFile(
    path,
    (file) =>
      file
        .prepare(
          `select t.name as tableName, c.name as columnName from sqlite_master t join pragma_table_info(t.name) c
           where t.type = 'table' and t.name not like 'sqlite_%' and t.name not like '%migration%'
           and upper(c.type) not like '%INT%'`,
        )
        .all() as { readonly tableName: string; readonly columnName: string }[],
  )
  let planted = 0
  await writeSqliteFile(path, (file) => {
    file.pragma('foreign_keys = off')
    for (const { tableName, columnName } of columns) {
      try {
        const { changes } = file
          .prepare(
            `update or ignore "${tableName}" set "${columnName}" = ? where rowid = (select min(rowid) from "${tableName}")`,
          )
          .run(fresh(`${tableName}.${columnName}`))
        planted += changes
      } catch {
        // A check of the column, or a table without row ids.
      }
    }
  })
  return planted
}

test.serial('a bundle of a busy service contains diagnostics and no secret', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const canaries = makeCanaries()
  canaries.keep('token of the admin', service.adminToken)
  const database = join(folder, 'planted.sqlite')
  writeFileSync(
    database,
    readSqliteFile(service.databasePath, (file) => file.serialize()),
  )
  t.true((await plantInTables(database, canaries.fresh)) > 100)
  const line = (fields: object): string =>
    JSON.stringify({ level: 30, time: '2026-11-27T00:00:00.000Z', v: 0, ...fields })
  const log = join(folder, 'moorage.log')
  writeFileSync(
    log,
    [
      service.logText().trimEnd(),
      line({ msg: `said ${canaries.fresh('message')} of ${service.adminToken}` }),
      line({
        msg: 'request',
        requestId: canaries.fresh('request id'),
        route: `/${canaries.fresh('route')}`,
        url: canaries.fresh('url'),
      }),
      line({
        msg: 'a job failed',
        job: 'mail.deliver',
        reason: canaries.fresh('reason'),
        ip: canaries.fresh('address'),
      }),
      line({
        msg: 'request failed',
        operation: 'orgs.create',
        error: {
          name: 'TypeError',
          message: canaries.fresh('message of an error'),
          at: ['at make (file:///srv/moorage/dist/core/x.js:7:3)', `at ${canaries.fresh('place')}`],
          cause: { name: 'Error', code: 'ECONNREFUSED', message: canaries.fresh('cause') },
        },
      }),
      `plain text with ${canaries.fresh('plain line')}`,
      '',
    ].join('\n'),
  )
  const output = join(folder, 'busy.tar.gz')
  const { code, out } = await run(['support-bundle', '--output', output, '--log', log, '--json'], {
    MOORAGE_DATABASE_URL: `sqlite:${database}`,
    MOORAGE_OPS_LISTEN: new URL(service.opsUrl).host,
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
  })
  t.is(code, 0)
  t.is(statSync(output).mode & 0o777, 0o600)
  t.deepEqual((JSON.parse(out) as { entries: string[] }).entries.toSorted(), expected)
  const files = await filesOf(output)
  t.deepEqual(Object.keys(files).sort(), expected)
  for (const [name, text] of Object.entries(files)) t.deepEqual(leaks(text, canaries.made), [], name)
  t.regex(files['versions.json'] ?? '', /"moorage": "v\d/)
  t.regex(files['settings.json'] ?? '', /"databaseUrl"|"database-url"|database/i)
  t.regex(files['doctor.json'] ?? '', /"findings"/)
  t.regex(files['migrations.json'] ?? '', /0020-tasks/)
  t.regex(files['metrics.txt'] ?? '', /^moorage_http_requests_total\{/m)
  const kept = (files['log.txt'] ?? '').split('\n')
  t.true(kept.some((each) => each.includes('"route":"/orgs"') && each.includes('"requestId"')))
  t.true(kept.some((each) => each.includes('"job":"mail.deliver"') && each.includes('a job failed')))
  t.true(
    kept.some((each) => each.includes('TypeError') && each.includes('make x.js:7') && each.includes('ECONNREFUSED')),
  )
  t.true(kept.includes('1 lines that are not in JSON were left out.'))
  const again = await run(['support-bundle', '--output', output])
  t.deepEqual([again.code, again.err], [1, `${output} cannot be written: EEXIST.`])
})

test.serial("no bundle contains the secret of a setting, including in doctor's findings", async (t) => {
  const rows = settingsOf(await loadParts())
  const canaries = makeCanaries()
  const environment: Record<string, string> = {}
  for (const { env, type } of Object.values(rows)) {
    if (!type.isSecret) continue
    const planted = canaries.fresh(env)
    const form = [
      planted,
      `mysql://user:${planted}@127.0.0.1:1/moorage`,
      `smtp://user:${planted}@127.0.0.1:1`,
      `nats://${planted}@127.0.0.1:1`,
      `s3://key:${planted}@127.0.0.1/bucket/prefix?region=eu-central-1`,
      `https://user:${planted}@127.0.0.1:1`,
    ].find((text) => isRight(type.parse(text)))
    t.truthy(form, env)
    environment[env] = form ?? ''
  }
  t.true(canaries.made.length >= 5)
  const output = join(folder, 'settings.tar.gz')
  const { code } = await run(['support-bundle', '--output', output], {
    ...environment,
    MOORAGE_OPS_LISTEN: '127.0.0.1:1',
  })
  t.is(code, 0)
  const files = await filesOf(output)
  for (const [name, text] of Object.entries(files)) t.deepEqual(leaks(text, canaries.made), [], name)
  t.regex(files['doctor.json'] ?? '', /"state": "problem"/)
  t.regex(files['metrics.txt'] ?? '', /does not answer/)
})

test.serial('invalid settings are in the bundle as findings', async (t) => {
  const output = join(folder, 'invalid.tar.gz')
  const { code } = await run(['support-bundle', '--output', output], { MOORAGE_LISTEN: 'x' })
  t.is(code, 0)
  const files = await filesOf(output)
  t.regex(files['settings.json'] ?? '', /MOORAGE_LISTEN must be host:port/)
  t.regex(files['doctor.json'] ?? '', /MOORAGE_LISTEN must be host:port/)
  t.is((await run(['support-bundle', '--lines', '0'])).code, 2)
})

test.serial('of a log of any size the end is read', async (t) => {
  const [log, output] = [join(folder, 'large-log'), join(folder, 'large.tar.gz')]
  const line = (msg: string): string => `${JSON.stringify({ level: 30, msg })}\n`
  writeFileSync(log, line('the first'))
  // A hole, which takes no space on the disk.
  truncateSync(log, 3 * 2 ** 30)
  appendFileSync(log, `\n${line('one before')}${line('the last')}`)
  const { code } = await run(['support-bundle', '--output', output, '--log', log], { MOORAGE_LISTEN: 'nowhere' })
  t.is(code, 0)
  const text = (await filesOf(output))['log.txt'] ?? ''
  t.deepEqual(text.trimEnd().split('\n'), [
    line('one before').trimEnd(),
    line('the last').trimEnd(),
    '1 lines that are not in JSON were left out.',
    'Only the last 64 MiB of the log were read.',
  ])
  rmSync(log)
})

test('forms of credentials are removed wherever they occur, and clusters are numbered', (t) => {
  const token = `moor_${'a1B2'.repeat(9)}`
  t.is(withoutSecrets(`token ${token} ends`, []), 'token [removed] ends')
  t.is(withoutSecrets('mysql://u:p%40ss@db/x', []), 'mysql://u:[removed]@db/x')
  t.is(withoutSecrets('password=hunter2&x=1', []), 'password=[removed]&x=1')
  for (const text of [
    'Authorization: Bearer hunter2',
    'authorization=token hunter2, next',
    '"authorization": "Basic hunter2"',
    'sent bearer hunter2 to it',
    'Bearer hunter2~x',
  ])
    t.false(withoutSecrets(text, []).includes('hunter2'), text)
  t.false(withoutSecrets('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', []).includes('AAAA'))
  t.is(withoutSecrets('a hunter2 b', ['hunter2']), 'a [removed] b')
  t.is(
    withoutNames('a{cluster="acme/quay"} 1\nb{kind="x",cluster="acme/quay"} 2\nc{cluster="other"} 3'),
    'a{cluster="cluster-1"} 1\nb{kind="x",cluster="cluster-1"} 2\nc{cluster="other"} 3',
  )
  t.is(shownLine('no JSON', []), undefined)
  t.is(
    shownLine('{"level":30,"msg":"mail to lena.s+x@harbour.example waits for app@127.0.0.1:587"}', []),
    '{"level":30,"msg":"mail to [removed] waits for app@127.0.0.1:587"}',
  )
  t.is(shownLine('{"level":30,"msg":"ready","user":"ada"}', []), '{"level":30,"msg":"ready"}')
})
