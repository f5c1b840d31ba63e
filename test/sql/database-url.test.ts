import test from 'ava'
import fc from 'fast-check'
import { openDatabase, parseMysqlUrl, parseSocketUrl } from '../../adapters/sql/engine/database.ts'

test('the forms of the specification are understood', (t) => {
  t.deepEqual(parseMysqlUrl('mysql://user:password@host:3307/name'), { host: 'host', port: 3307, user: 'user', password: 'password', database: 'name' })
  t.deepEqual(parseMysqlUrl('mysql://user@[::1]/name'), { host: '::1', port: 3306, user: 'user', password: '', database: 'name' })
  t.deepEqual(parseSocketUrl('mysql+unix://user@/name?socket=/run/mysqld/mysqld.sock'), { socketPath: '/run/mysqld/mysqld.sock', user: 'user', password: '', database: 'name' })
  t.like(parseSocketUrl('mysql+unix://user:p%40ss@/name?socket=%2Frun%2Fa%20b'), { socketPath: '/run/a b', password: 'p@ss' })
})

test('any user and password survive', (t) => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 })
  fc.assert(fc.property(text, text, (user, password) => {
    const [first, second] = [encodeURIComponent(user), encodeURIComponent(password)]
    t.like(parseMysqlUrl(`mysql://${first}:${second}@host/name`), { user, password })
    t.like(parseSocketUrl(`mysql+unix://${first}:${second}@/name?socket=/s`), { user, password })
  }))
})

test('other forms are refused without repeating the password', async (t) => {
  const wrong = [
    '', 'sqlite:', 'postgres://u:s3cret@h/n', 'mysql://u:s3cret@h', 'mysql://u:s3cret@h/', 'mysql://:s3cret@h/n', 'mysql://u:s3cret@h:99999/n',
    'mysql://u:s3cret%zz@h/n', 'mysql://u:s3cret@h/n?ssl=1', 'mysql+unix://u:s3cret@/n', 'mysql+unix://u:s3cret@/n?socket=', 'mysql+unix://u:s3cret@host/n?socket=/s',
  ]
  for (const url of wrong) {
    const error = await t.throwsAsync(openDatabase(url), { message: /database URL is not understood/ }, url)
    t.false(`${error?.message} ${error?.stack}`.includes('s3cret'))
  }
})

test('a file that cannot be opened is named', async (t) => {
  await t.throwsAsync(openDatabase('sqlite:/nonexistent/folder/a.sqlite'), { message: /\/nonexistent\/folder\/a\.sqlite/ })
})
