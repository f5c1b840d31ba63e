import test from 'ava'
import { pageHeaders } from '../../composition/http/request/paging.ts'

const page = (total: number) => ({ items: [], total })

test('links keep the filters of the caller and leave credentials out', (t) => {
  const headers = pageHeaders('http://a/list', new URLSearchParams('q=x&token=t&access_token=t&page=2'), { page: 2, limit: 10 }, page(35))
  t.is(headers['Link'], ['next:3', 'last:4', 'first:1', 'prev:1'].map((each) => each.split(':')).map(([rel, number]) => `<http://a/list?q=x&page=${number}&limit=10>; rel="${rel}"`).join(', '))
  t.is(headers['X-Total-Count'], '35')
})

test('a query that is too long to be repeated in links costs the links, not the answer', (t) => {
  const headers = pageHeaders('http://a/list', new URLSearchParams({ q: 'x'.repeat(8000) }), { page: 1, limit: 10 }, page(35))
  t.is(headers['Link'], undefined)
  t.is(headers['X-Total-Count'], '35')
})
