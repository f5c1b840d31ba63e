import type { ApiCall } from './api-path.ts'
import type { CallRules } from './call-rules.ts'
import { isTree, type Tree } from './kube-object.ts'

export const reviewPath = /^\/apis\/authorization\.k8s\.io\/v1\/(self)?subjectaccessreviews$/

/** Answers whether the rules of the test would let a call through. */
export const answerReview = (rules: CallRules, asking: ApiCall, body: unknown): object => {
  const spec: Tree = isTree(body) && isTree(body['spec']) ? body['spec'] : {}
  const about: Tree = isTree(spec['resourceAttributes']) ? spec['resourceAttributes'] : {}
  const word = (key: string): string => (typeof about[key] === 'string' ? about[key] : '')
  const isForbidden = rules.isForbidden({
    ...asking,
    user: typeof spec['user'] === 'string' ? spec['user'] : asking.user,
    verb: word('verb'),
    resource: word('resource'),
    group: word('group'),
    namespace: word('namespace') === '' ? undefined : word('namespace'),
    name: word('name') === '' ? undefined : word('name'),
  })
  const kind = typeof spec['user'] === 'string' ? 'SubjectAccessReview' : 'SelfSubjectAccessReview'
  return {
    kind,
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec,
    status: { allowed: !isForbidden, ...(isForbidden ? { reason: 'refused by the test' } : {}) },
  }
}
