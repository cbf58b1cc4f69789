"""Case PT-05: Compose stacks of two tasks that share a name, a container or a port of this machine."""

from __future__ import annotations

from interlock.app.compose import compose_gaps, gaps_at

FIXED = b"""
services:
  db:
    image: postgres
    container_name: shop-db
    ports: ["5432:5432", "127.0.0.1:5433:5432/tcp", "[::1]:5434:5432", 5435:5432]
  web:
    image: shop
    ports:
      - {target: 80, published: 8080}
networks:
  front: {name: shop-front}
volumes:
  data: {external: true}
"""

FREE = b"""
name: shop
services:
  db:
    image: postgres
    ports: ["5432", "${DB_PORT:-5432}:5432", 22:22]
    networks: [front]
  web:
    image: shop
    ports: [{target: 80}, {target: 81, published: "${APP_PORT}"}, {target: 82, published: 0}]
networks:
  front: {name: "${COMPOSE_PROJECT_NAME}-front"}
  back:
volumes:
  data: {}
"""


def test_pt_05_fixed_names_and_published_ports_are_told_before_anything_is_started() -> None:
    gaps = compose_gaps({"compose.yml": FIXED})
    assert [gap for gap in gaps if "container_name shop-db" in gap]
    for port in (5432, 5433, 5434, 5435, 8080):
        assert [gap for gap in gaps if f"fixed port {port} " in gap], port
    assert [gap for gap in gaps if "network front" in gap]
    assert [gap for gap in gaps if "volume data" in gap]
    assert len(gaps) == 8
    assert all(gap.startswith("compose.yml: ") and gap.endswith(".") for gap in gaps)


def test_pt_05_what_compose_names_by_the_project_is_no_gap() -> None:
    gaps = compose_gaps({"compose.yml": FREE})
    assert gaps == (
        "compose.yml: db publishes the fixed port 22 of this machine; publish a variable of the task's block.",
    )


def test_pt_05_a_file_that_cannot_be_read_is_told_and_not_taken_for_clean() -> None:
    assert "cannot be read" in compose_gaps({"compose.yml": b"services: [\n"})[0]
    assert "cannot be read" in compose_gaps({"compose.yml": b"\xff\xfe\xff"})[0]
    assert compose_gaps({"compose.yml": b""}) == ()
    assert compose_gaps({"compose.yml": b"- a\n"}) == ()
    assert compose_gaps({"compose.yml": b"services: {db: {ports: 5432}}\n"}) == ()


def test_pt_05_doctor_reads_the_file_of_the_base_and_not_the_one_at_hand(world, town) -> None:
    world.write("compose.yml", "services: {db: {container_name: shop-db}}\n")
    base = world.push()
    world.write("compose.yml", "services: {}\n")
    world.write("docker-compose.yml", "services: {db: {container_name: other}}\n")
    assert gaps_at(town().ports, base) == (
        "compose.yml: db has the fixed container_name shop-db; leave it to the project's name.",
    )
