import { hash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import Database from 'better-sqlite3'
import mysql from 'mysql2'
import { announce, given } from './ready.ts'

// node:http, one prepared join, JSON.stringify: the least that decides who may read the metrics of a cluster.

const settings = given<{ databaseUrl?: string; path?: string; connections: number }>()

const sql =
  'select a.name as owner, c.name as cluster from access_tokens t join users u on u.id = t.user_id ' +
  'join org_members m on m.user_id = t.user_id and m.org_id = ? join accounts a on a.id = m.org_id ' +
  'join clusters c on c.owner_id = a.id and c.uid = ? where t.token_hash = ? and u.is_active = 1'

interface Row {
  readonly owner: string
  readonly cluster: string
}
type Find = (owner: number, uid: string, token: Buffer, done: (row: Row | undefined) => void) => void

const finder = (): Find => {
  if (settings.path !== undefined) {
    const statement = new Database(settings.path, { readonly: true }).prepare<[number, string, Buffer], Row>(sql)
    return (owner, uid, token, done) => done(statement.get(owner, uid, token))
  }
  const pool = mysql.createPool({ uri: settings.databaseUrl ?? '', connectionLimit: settings.connections })
  return (owner, uid, token, done) =>
    pool.execute<mysql.RowDataPacket[]>(sql, [owner, uid, token], (_error, rows) => done(rows?.[0] as Row | undefined))
}

const find = finder()
const answer = (res: ServerResponse, owner: string, row: Row | undefined): void => {
  if (row === undefined) return void res.writeHead(401).end()
  const body = JSON.stringify({ owner: row.owner, clusterName: row.cluster, tenantID: `user.${owner}` })
  res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) })
  res.end(body)
}

announce(
  createServer((req, res) => {
    const token = (req.headers.authorization ?? '').slice('Bearer '.length)
    const [, owner = '', uid = ''] = /\/auth\/(\d+)\.([0-9a-f-]+)/.exec(req.url ?? '') ?? []
    find(Number(owner), uid, hash('sha256', token, 'buffer'), (row) => answer(res, owner, row))
  }),
)
