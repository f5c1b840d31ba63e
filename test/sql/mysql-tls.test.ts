// process: waiting - uses components
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { createConnection } from 'mysql2/promise'
import { Unavailable } from '../../core/kernel/failure.ts'
import { databaseTrouble } from '../../composition/runtime/service/foundation.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { migrationStatus } from '../../adapters/sql/engine/migrator.ts'
import { secret } from '../../core/kernel/secret.ts'
import { chosenProduct, startDatabaseServer, type DatabaseServer } from '../support/components/database-server.ts'
import { needing } from '../support/components/needing.ts'
import { borrowMysqlDatabase } from '../support/databases.ts'
import { makeServerCertificate } from '../support/server-certificate.ts'
import { ourMigrations } from '../support/schema.ts'

const test = needing('mariadb')

const folder = mkdtempSync(join(tmpdir(), 'moorage-tls-'))
const fileOf = (name: string): string => join(folder, name)
let server: DatabaseServer

/** Gives the server a certificate, and writes its authority to `NAME.ca`. */
const present = async (name: string, altNames?: string): Promise<void> => {
  const { certificatePem, keyPem } = await makeServerCertificate(name, altNames)
  await writeFile(fileOf('server.crt'), certificatePem)
  await writeFile(fileOf('server.key'), keyPem)
  await writeFile(fileOf(`${name}.ca`), certificatePem)
}

const administer = async (sql: string): Promise<void> => {
  const connection = await createConnection({ socketPath: server.socket, user: 'root' })
  await connection.query(sql)
  await connection.end()
}

test.before(async () => {
  await present('mysql-tls')
  server = await startDatabaseServer(undefined, {
    more: [`--ssl-cert=${fileOf('server.crt')}`, `--ssl-key=${fileOf('server.key')}`, '--require-secure-transport=ON'],
  })
  await administer('create database app character set utf8mb4')
})
test.after.always(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Makes the server read its certificate again. */
const readCertificate = (): Promise<void> =>
  administer(chosenProduct() === 'mariadb' ? 'flush ssl' : 'alter instance reload tls')

const urlOf = (query: string, port = server.port): string => `mysql://root@localhost:${port}/app${query}`
const trusted = (name: string): string => `?tls=required&ca=${encodeURIComponent(fileOf(`${name}.ca`))}`

/** Asks with a new pool. */
const ask = async (url: string): Promise<string> => {
  const database = await openDatabase(url, {
    mysql: { connectTimeoutMilliseconds: 1500, statementTimeoutMilliseconds: 4000 },
  })
  try {
    const status = database.prepare({}, (k) => k.raw("show session status like 'Ssl_version'"))
    return ((await database.first(status, {})) as { readonly Value: string } | undefined)?.Value ?? ''
  } finally {
    await database.close()
  }
}

/** Returns what the start of the service says of the failure. */
const refusal = async (t: ExecutionContext, url: string): Promise<string> => {
  const error = await t.throwsAsync(ask(url), { instanceOf: Unavailable })
  return databaseTrouble({ databaseUrl: secret(url) }, error)
}

test.serial('statements, transactions and migrations go over TLS to a server that requires it', async (t) => {
  t.regex(await ask(urlOf(trusted('mysql-tls'))), /^TLSv1\.[23]$/)
  const database = await openDatabase(urlOf(trusted('mysql-tls')))
  t.teardown(() => database.close())
  const one = database.prepare({}, (k) => k.raw('select 1 as one'))
  t.deepEqual(
    await Promise.all(Array.from({ length: 20 }, () => database.transaction((tx) => tx.first(one, {})))),
    Array.from({ length: 20 }, () => ({ one: 1 })),
  )
  t.true((await migrationStatus(database, ourMigrations)).length > 0)
  const session = await database.openSchemaSession()
  await session.close()
})

test.serial('an account signs in with its password over TLS, and is refused with another one', async (t) => {
  await administer("create user keeper identified by 'deep water: 7'")
  await administer('grant all on app.* to keeper')
  const urlWith = (password: string): string =>
    Object.assign(new URL(urlOf(trusted('mysql-tls'))), { username: 'keeper', password }).href
  t.regex(await ask(urlWith('deep water: 7')), /^TLSv1/)
  await t.throwsAsync(ask(urlWith('deep water: 8')), {
    instanceOf: Unavailable,
    message: /does not accept the account/,
  })
})

test.serial('without TLS such a server refuses', async (t) => {
  const error = await t.throwsAsync(ask(urlOf('')))
  t.regex(databaseTrouble({ databaseUrl: secret(urlOf('')) }, error), /insecure transport|Access denied/)
})

test.serial('an authority that is not trusted is refused, and named as the reason', async (t) => {
  t.regex(await refusal(t, urlOf('?tls=required')), /self-signed certificate/)
})

test.serial('a server without trusted TLS gets no data from a strict client', async (t) => {
  const plain = await borrowMysqlDatabase()
  t.teardown(() => plain.giveBack())
  const { port } = new URL(plain.url)
  t.regex(
    await refusal(t, urlOf(trusted('mysql-tls'), Number(port))),
    /does not support secure connection|self-signed certificate/,
  )
})

test.serial('a server that falls silent in the handshake is given up in time', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1')
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined))
    upstream.once('data', (greeting) => client.write(greeting))
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  t.regex(
    await refusal(t, urlOf(trusted('mysql-tls'), (silent.address() as AddressInfo).port)),
    /does not answer|ETIMEDOUT/,
  )
})

test.serial('a certificate that is renewed is used, and one for another host is refused', async (t) => {
  await present('mysql-tls-next')
  await readCertificate()
  t.regex(await ask(urlOf(trusted('mysql-tls-next'))), /^TLSv1/)
  t.regex(await refusal(t, urlOf(trusted('mysql-tls'))), /self-signed certificate/)
  await present('mysql-tls-other', 'DNS:db.example')
  await readCertificate()
  t.regex(await refusal(t, urlOf(trusted('mysql-tls-other'))), /db\.example/)
})

test('an unverifiable address or an empty authority file is refused', async (t) => {
  await writeFile(fileOf('empty.ca'), '')
  await t.throwsAsync(openDatabase('mysql://u:s3cret@127.0.0.1/n?tls=required'), {
    message: /must have the name of the host/,
  })
  await t.throwsAsync(openDatabase('mysql://u:s3cret@[::1]/n?tls=required'), {
    message: /must have the name of the host/,
  })
  await t.throwsAsync(openDatabase(urlOf('?tls=required&ca=/nowhere/ca.pem')), {
    message: /\/nowhere\/ca\.pem.*cannot be read/,
  })
  await t.throwsAsync(openDatabase(urlOf(trusted('empty'))), { message: /empty\.ca.*has no certificate/ })
})
