"""As much of pydantic as the pipeline of the tests needs, for machines without it."""

import dataclasses


class BaseModel:
    def __init_subclass__(cls):
        dataclasses.dataclass(cls)
