import { createConnection } from 'mysql2/promise'
import { mariaDb } from '../support/components/available.ts'
import { startMariaDb } from '../support/components/mariadb.ts'
import { needing } from '../support/components/needing.ts'

const test = needing('mariadb')

test('a fresh database is empty, utf8mb4 and strict', async (t) => {
  const server = (await mariaDb())!
  const [first, second] = [await server.createDatabase(), await server.createDatabase()]
  t.not(first, second)
  const connection = await createConnection(first)
  try {
    const [tables] = await connection.query('SHOW TABLES')
    t.deepEqual(tables, [])
    await connection.query('CREATE TABLE note (words VARCHAR(2) NOT NULL)')
    await connection.query('INSERT INTO note VALUES (?)', ['⚓️'])
    await t.throwsAsync(connection.query('INSERT INTO note VALUES (?)', ['too long']), { code: 'ER_DATA_TOO_LONG' })
    const [rows] = await connection.query('SELECT words FROM note')
    t.deepEqual(rows, [{ words: '⚓️' }] as never)
  } finally {
    await connection.end()
  }
})

test('a committed row survives a crash of the server, and an open transaction does not', async (t) => {
  const server = await startMariaDb()
  try {
    const url = await server.createDatabase()
    const before = await createConnection(url)
    before.on('error', () => undefined)
    await before.query('CREATE TABLE note (id INT PRIMARY KEY)')
    await before.query('INSERT INTO note VALUES (1)')
    await before.beginTransaction()
    await before.query('INSERT INTO note VALUES (2)')
    await server.kill()
    await t.throwsAsync(before.query('SELECT 1'))
    await server.restart()
    const after = await createConnection(url)
    const [rows] = await after.query('SELECT id FROM note')
    await after.end()
    t.deepEqual(rows, [{ id: 1 }] as never)
  } finally {
    await server.stop()
  }
})
