"""Prints each result of scim2-tester that is not a success, then the number of successes."""

import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

url, token = sys.argv[1:]
client = SyncSCIMClient(Client(base_url=url, headers={"Authorization": f"Bearer {token}"}))
results = check_server(client)
for result in results:
    if result.status != Status.SUCCESS:
        print(result.status.name, result.title, result.reason)
print(sum(result.status == Status.SUCCESS for result in results), "succeeded")
