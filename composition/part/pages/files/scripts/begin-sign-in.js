import { byId, tell } from './kit.js'
import { beginAt } from './sign-in-form.js'

// The page is at /user/oauth2/ID: a provider sends the browser here to begin a sign-in.
const id = location.pathname.split('/')[3]
const iss = new URLSearchParams(location.search).get('iss')
tell('You are sent to your identity provider…')
const problem = await beginAt(id, iss === null ? {} : { iss })
if (problem !== undefined) {
  tell(problem, true)
  byId('again').hidden = false
}
