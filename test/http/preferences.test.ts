import test from 'ava'
import { qualityOf, readPreferences } from '../../composition/runtime/http/request/preferences.ts'

test('the elements of a header come with their quality', (t) => {
  t.deepEqual(readPreferences('text/html, Text/CSV;header=present; Q=0.5 ,*/*;q=0'), [
    { name: 'text/html', quality: 1 },
    { name: 'text/csv', quality: 0.5 },
    { name: '*/*', quality: 0 },
  ])
  t.deepEqual(
    ['a;q=1.0', 'a;q=0.001', 'a; q=0.000', 'a;q=1.5', 'a;q=-1', 'a;q=', 'a;q=b'].map((header) =>
      qualityOf(header, 'a'),
    ),
    [1, 0.001, 0, 1, 1, 1, 1],
  )
})

test('a name has no quality that the header does not name', (t) => {
  for (const header of [undefined, '', 'x-gzip', 'gzip2, *', 'gzip;q=0', 'deflate;gzip'])
    t.is(qualityOf(header, 'gzip'), 0, header)
  t.is(qualityOf('deflate;q=0.5, GZIP', 'gzip'), 1)
})
